"""What a search prints does not depend on its limit, unless the document says that the limit ended it."""

import math

import pytest

from models import Cluster
from planner import rebalance
from planner.documents.move_plan import MovePlan
from planner.proof import move_effort as effort
from planner.proof.clock import Clock
from tests.builders import cluster, node, pod, spread


def full_elsewhere() -> Cluster:
    """Four pods in one zone and no room in the other: one more node would help."""
    words = {"app": "web", "owner": "ReplicaSet/web", "cpu": "1", "spread": [spread()]}
    return cluster(
        node("n0", zone="a", cpu="8"),
        node("n1", zone="b", cpu="1"),
        pod("full", "n1", cpu="1", owner="DaemonSet/x"),
        *(pod(f"w{number}", "n0", **words) for number in range(4)),
    )


def unpinnable() -> Cluster:
    """Replacements of a StatefulSet that only a cordon keeps where they are to go."""
    words = {"app": "db", "owner": "StatefulSet/db", "cpu": "1", "spread": [spread()]}
    return cluster(
        node("n0", zone="a", cpu="40"),
        node("n1", zone="b", cpu="3"),
        pod("other", "n1", cpu="1", owner="DaemonSet/x"),
        *(pod(f"db-{number}", "n0", **words) for number in range(3)),
    )


@pytest.mark.parametrize("given", [full_elsewhere(), unpinnable()])
def test_a_short_limit_prints_the_same(given: Cluster) -> None:
    """What went wrong: with less than two seconds left no change was tried, and no note said so."""
    effort_of_a_try = effort.REMEDY_SECONDS
    short, long = (rebalance(given, time_limit=seconds) for seconds in (effort_of_a_try - 0.2, 20.0))
    assert short.cut or short == long


class _Ended(Clock):
    """A clock that is over from some reading on."""

    def __init__(self, readings: float) -> None:
        super().__init__(math.inf)
        self._readings = readings

    def left(self) -> float:
        self._readings -= 1
        return 60.0 if self._readings >= 0 else 0.0


def test_wherever_the_clock_ends_it_the_document_says_so() -> None:
    """Ended at any reading of the clock, the plan is that of the whole search or says that it was cut."""
    given = full_elsewhere()
    whole = rebalance(given, clock=_Ended(math.inf))
    assert not whole.cut
    found: list[MovePlan] = []
    while not found or found[-1].cut:
        found.append(rebalance(given, clock=_Ended(len(found))))
        assert found[-1].cut or found[-1] == whole
    assert len(found) > 1
