"""The replay of a plan says what deviates from it."""

import pytest

from planner.documents.move_plan import OnNodes
from planner.landing.landing import Landing
from planner.moves.trial_cluster import EvictionTimeline, Move, TrialCluster
from planner.problem.problem import Problem
from planner.waves.replay import failures, first_failure
from tests.builders import cluster, node, pod, spread


def _landing(problem: Problem, name: str, target: str, *others: str) -> Landing:
    """A pod that lands by itself, on one node or on any of several."""
    number = next(n for n, found in enumerate(problem.pods) if found.name == name)
    nodes = problem.nodes.none.copy()
    nodes[[problem.nodes.index[found] for found in (target, *others)]] = True
    move = Move(number, int(problem.node_of[number]), problem.nodes.index[target])
    return Landing(move, "filters", nodes, OnNodes(nodes=(target, *others)))


@pytest.mark.parametrize(
    ("target", "holds"),
    [("b1", True), ("full", False), ("a2", False)],
    ids=["it holds", "there is no room", "a constraint refuses the node"],
)
def test_a_wave_that_does_not_hold_is_told(target: str, holds: bool) -> None:
    """What went wrong: with a replay that always says that a plan holds all other tests passed."""
    words = {"app": "web", "cpu": "1", "owner": "ReplicaSet/web", "spread": [spread()]}
    problem = Problem(
        cluster(
            node("a1", zone="a", cpu="4"),
            node("a2", zone="a", cpu="4"),
            node("b1", zone="b", cpu="1"),
            node("full", zone="b", cpu="1"),
            pod("web-0", on="a1", **words),
            pod("web-1", on="a1", **words),
            pod("other", on="full", cpu="1"),
        )
    )
    told = first_failure(TrialCluster(problem), [[_landing(problem, "web-0", target)]], soft=False)
    assert (told is None) is holds, told


@pytest.mark.parametrize("others", [(), ("b2",)], ids=["one node is named", "both are"])
def test_a_replacement_that_may_land_elsewhere_is_told(others: tuple[str, ...]) -> None:
    """Each move holds where the smallest name wins; kube-scheduler draws among nodes that are as good."""
    words = {"app": "web", "cpu": "1", "owner": "ReplicaSet/web", "spread": [spread()]}
    problem = Problem(
        cluster(
            node("a1", zone="a"),
            node("b1", zone="b"),
            node("b2", zone="b"),
            pod("web-0", on="a1", **words),
            pod("web-1", on="a1", **words),
        )
    )
    told = first_failure(TrialCluster(problem), [[_landing(problem, "web-0", "b1", *others)]], soft=False)
    assert told == (None if others else "wave 1: default/web-0 does not land on a planned node")


def test_a_constraint_that_is_worse_while_a_pod_is_away_is_told() -> None:
    """Two in one zone and one in the other are even; with the one away they are not until it is back."""
    words = {"app": "web", "cpu": "1", "owner": "ReplicaSet/web", "spread": [spread()]}
    nodes = [node("a1", zone="a"), node("b1", zone="b"), node("b2", zone="b")]
    pods = [pod("web-0", on="a1", **words), pod("web-1", on="a1", **words), pod("web-2", on="b1", **words)]
    problem = Problem(cluster(*nodes, *pods))
    wave = [_landing(problem, "web-2", "b2", "b1")]
    timeline = EvictionTimeline(problem, [landing.move.pod for landing in wave])
    told = [*failures(timeline, [wave], seed=None)]
    assert told == ["wave 1: a constraint is worse than before with default/web-2 LEAVING"]
    assert not [*failures(timeline, [wave], seed=None, while_away=False)]
