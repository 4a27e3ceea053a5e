"""What of a scheduler's configuration is not modelled, and which pods are not its own, whoever asks."""

from collections.abc import Callable

import pytest

from models import Cluster
from planner import (
    capacity,
    compare,
    consolidate,
    drain,
    explain,
    rebalance,
    rollout,
    simulate,
    solve,
    survive,
)
from tests.builders import ZONE, cluster, node, pod, scaled, scheduler

Notes = Callable[[Cluster], tuple[str, ...]]
_EXTENDERS = "scheduler extenders are not modelled"
_OTHERS = "1 pending pod asks for scheduler volcano, which has no profile here: left alone"

PLACING: dict[str, Notes] = {
    "capacity": lambda found: capacity(found).notes,
    "compare": lambda found: compare(found, time_limit=1).notes,
    "consolidate": lambda found: consolidate(found, time_limit=1).notes,
    "drain": lambda found: drain(found, ["a1"]).notes,
    "explain": lambda found: explain(found).notes,
    "rebalance": lambda found: rebalance(found, time_limit=1).notes,
    "simulate": lambda found: simulate(found).notes,
    "solve": lambda found: solve(found, time_limit=1).notes,
    "solve --allow-moves": lambda found: solve(found, time_limit=1, allow_moves=True).notes,
    "survive": lambda found: survive(found, ZONE).notes,
}


@pytest.mark.parametrize("notes", PLACING.values(), ids=PLACING)
def test_what_is_not_modelled_is_said_of_every_placement(notes: Notes) -> None:
    """Plans with proofs were told without a word about extenders; of a pod of volcano solve said nothing."""
    config = scheduler() | {"extenders": [{"urlPrefix": "http://gpu", "filterVerb": "filter"}]}
    nodes = node("a1", zone="a"), node("b1", zone="b")
    told = notes(cluster(*nodes, config, pod("web"), pod("job", schedulerName="volcano")))
    assert (told.count(_EXTENDERS), told.count(_OTHERS)) == (1, 1)


def test_what_is_not_modelled_is_said_of_a_rollout() -> None:
    """Its pods are placed by the same scheduler."""
    config = scheduler() | {"extenders": [{"urlPrefix": "http://gpu", "filterVerb": "filter"}]}
    manifests = Cluster.from_objects([scaled("Deployment", "web", 1)], partial=True)
    assert rollout(cluster(node("a1"), config), manifests, replays=0).notes.count(_EXTENDERS) == 1


def test_pods_of_other_schedulers_are_told_of_a_rollout() -> None:
    """Of a Deployment that asks for volcano it was said that its pods do not become ready, and not why."""
    web = scaled("Deployment", "web", 3)
    web["spec"]["template"]["spec"]["schedulerName"] = "volcano"
    manifests = Cluster.from_objects([web], partial=True)
    told = rollout(cluster(node("a1"), pod("job", schedulerName="volcano")), manifests, replays=1).notes
    asks = "Deployment default/web asks for scheduler volcano, which has no profile here"
    assert (told.count(_OTHERS), told.count(f"{asks}: its new pods are left alone")) == (1, 1)
