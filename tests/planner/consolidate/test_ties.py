"""Evictions alone where no cordon is heeded and kube-scheduler breaks ties: every outcome is followed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from models import Cluster
from planner import consolidate
from planner.consolidate.eviction_sequence import EvictionSequence
from planner.consolidate.removable import NodeChoice
from planner.documents.move_plan import OnNodes
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.proof.meter import Meter
from planner.whatif.nodes import cordon
from tests import seeds
from tests.builders import ZONE, Object, cluster, node, spread
from tests.planner.consolidate.test_plan import carried_out, owned

#: A constraint that honours taints does not count pods on cordoned nodes, so no cordon leads its pods.
HONOURS = {"spread": [spread(ZONE, 99, nodeTaintsPolicy="Honor")]}


def equal_nodes(number: int, room: str) -> list[Object]:
    """Kept nodes with the same room, and one to empty."""
    return [node("go", "a"), *(node(f"k{n}", "a", cpu=room) for n in range(number))]


def sequence(found: Cluster, closed: str = "go") -> tuple[EvictionSequence, list[int]]:
    """The pods of a cordoned node, and what evicts them."""
    trial = TrialCluster(Problem(cordon(found, closed)))
    pods = [n for n, item in enumerate(trial.problem.pods) if item.node_name == closed]
    removed = np.array([name == closed for name in trial.problem.nodes.names])
    return EvictionSequence(EvictionTimeline.of_all(trial, pods), Meter.of(60.0), removed), pods


@pytest.mark.parametrize("by_node", [True, False])
def test_pods_of_a_template_fill_equal_nodes(by_node: bool) -> None:
    """Three pods on three equal nodes: in any order each node has one, and one outcome is left."""
    found = cluster(*equal_nodes(3, "2"), *(owned(f"web-{n}", "go") for n in range(3)))
    evicted, pods = sequence(found)
    assert evicted.run(pods, by_node=by_node) == []
    assert [int(np.count_nonzero(one.nodes)) for one in evicted.landings] == [3, 3, 3]
    assert len(evicted.outcomes) == 1


def test_each_outcome_of_a_tie_is_followed() -> None:
    """Two templates on two equal nodes: the second lands on whichever node the first did not take."""
    pods = [owned(name, "go", "2", **HONOURS) for name in ("web-0", "api-0")]
    found = cluster(*equal_nodes(2, "2"), *pods)
    evicted, pods = sequence(found)
    assert evicted.run(pods, by_node=False) == []
    assert len(evicted.outcomes) == 2
    plan = consolidate(found, choice=NodeChoice(named=frozenset({"go"})), time_limit=15)
    assert [row.node for row in plan.removed] == ["go"]
    assert all(isinstance(step.lands, OnNodes) and len(step.lands.nodes) == 2 for step in plan.steps)
    ends = {pod.key: pod.node_name for seed in range(6) for pod in carried_out(found, plan, seed).pods}
    assert "" not in ends.values()


def test_a_tie_that_may_leave_no_room_is_not_taken() -> None:
    """A pod that fits on one of two equal nodes alone must come before the one that could take it."""
    nodes = [node("go"), node("k0", cpu="2", labels={"pool": "a"}), node("k1", cpu="2")]
    small, held = owned("web-0", "go", "2"), owned("api-0", "go", "2", node_selector={"pool": "a"})
    found = cluster(*nodes, small, held)
    evicted, pods = sequence(found)
    assert evicted.run(pods, by_node=False) == []
    index = Problem(found).pod_index
    assert [one.move.pod for one in evicted.landings] == [index["default/api-0"], index["default/web-0"]]


def drawn(seed: int, number: int) -> Iterator[Cluster]:
    """Clusters of nearly equal nodes, whose pods are of a few sizes: many ties, little room."""
    for one in range(seed, seed + number):
        draw = random.Random(one)
        kept = draw.randrange(2, 5)
        there = [owned(f"old-{n}", f"k{n}", str(draw.randrange(1, 3))) for n in range(kept)]
        going = [
            owned(f"{draw.choice('abc')}-{n}", "go", str(draw.randrange(1, 3)), **HONOURS)
            for n in range(draw.randrange(2, 5))
        ]
        nodes = [node("go", "a", cpu="8"), *(node(f"k{n}", "a") for n in range(kept))]
        yield cluster(*nodes, *there, *going)


@pytest.mark.parametrize("seed", seeds.given_and_fresh(3))
def test_wherever_ties_lead_the_pods_have_a_node(seed: int | None) -> None:
    """Plans with ties, carried out again and again with other draws: nobody pends, the nodes are empty."""
    seed = seeds.fresh() if seed is None else seed
    ties = 0
    for found in drawn(seed, seeds.tries(5)):
        plan = consolidate(found, choice=NodeChoice(named=frozenset({"go"})), time_limit=15)
        ties += sum(isinstance(step.lands, OnNodes) and len(step.lands.nodes) > 1 for step in plan.steps)
        gone = {row.node for row in plan.removed}
        for draw in range(6):
            assert gone.isdisjoint({pod.node_name for pod in carried_out(found, plan, draw).pods})
    assert ties, seed
