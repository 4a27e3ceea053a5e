"""Single evictions that end alike however ties break, before the waves of the rest."""

from collections import Counter

import pytest

from models import Cluster
from planner import rebalance
from tests.builders import cluster, node, pod, spread
from tests.planner.rebalance.recorded_like import recorded_like
from tests.planner.rebalance.test_recordings import wrong_in


def tied(replicas: str) -> Cluster:
    """A node in each of three zones, some replicas of one workload, and a pod that makes two nodes alike."""
    pods = [
        pod(f"web-{number}", place, app="web", owner="ReplicaSet/web", cpu="1", spread=[spread(skew=2)])
        for number, place in enumerate(replicas)
    ]
    nodes = [node(name, zone=f"zone-{name}", cpu="16") for name in "abc"]
    return cluster(*nodes, *pods, pod("other", "b", app="other", cpu="1"))


def test_two_evictions_end_alike_where_one_may_end_in_two_ways() -> None:
    """From 2, 1 and 5 a replacement may land in either of two zones; only a second one makes all hold."""
    there = tied("aabccccc")
    plan = rebalance(there, evict_only=True, explain=False)
    assert (plan.before.hard_excess, plan.after.hard_excess) == (2, 0)
    assert Counter(step.landing for step in plan.steps)["pinned"] == 0
    assert [step.wave for step in plan.steps] == [1, 2]
    assert wrong_in(there, plan) == []


@pytest.mark.long
def test_other_replicas_go_first_where_a_zone_cannot_spare_the_one_that_is_too_many() -> None:
    """No zone may have more excess while a pod is away, so other evictions come before those that repair."""
    there = recorded_like(109, "tight")
    plan = rebalance(there, evict_only=True, explain=False)
    assert plan.after.hard_excess == 0
    assert {step.landing for step in plan.steps} <= {"filters", "scores"}
    assert wrong_in(there, plan) == []


def test_bounded_evictions_are_not_spent_on_single_ones() -> None:
    """With --max-moves the plan keeps to the limit, and some excess remains."""
    plan = rebalance(tied("aabccccc"), evict_only=True, max_moves=1)
    assert len(plan.steps) <= 1
    assert plan.after.hard_excess > 0
