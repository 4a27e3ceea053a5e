"""A stop in the middle of a run: what came before it is the answer."""

import pytest

from models import Cluster
from models.errors import NoAnswer
from planner import rollout
from planner.documents.rollout import Rollout
from planner.proof.clock import leave
from tests.planner.simulation.rollout.running import manifests, running, web, zones


def stopped_in(run: int) -> Rollout:
    """What is said of a rollout that Ctrl-C ends before this run is kept."""

    def progress(done: int, _: int) -> None:
        if done == run:
            leave()

    cluster = Cluster.from_objects(running(web(2), ["a1", "b1"], *zones("ab")))
    return rollout(cluster, manifests(web(2, cpu="200m")), progress=progress)


def test_the_runs_before_it_are_told() -> None:
    """What went wrong: Ctrl-C waited for the end of the run, which takes minutes where much is rolled out."""
    found = stopped_in(3)
    assert (found.replays.runs, found.completes) == (2, True)
    assert "stopped after 2 of 21 runs" in found.notes


def test_without_any_there_is_no_answer() -> None:
    """What went wrong: the first run could not be ended."""
    with pytest.raises(NoAnswer, match=r"^stopped before the first run had ended$"):
        stopped_in(1)
