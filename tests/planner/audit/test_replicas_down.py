"""Replicas that are Terminating at the start and cannot end count as down."""

from typing import Any

from planner import consolidate, rebalance
from planner.audit.replicas_down import DOWN, replicas_down
from planner.problem.problem import Problem
from tests.builders import Object, cluster, node, pod, spread

NODES = (node("n0", zone="a"), node("n1", zone="b"))


def replica(number: int, kind: str = "StatefulSet", **words: Any) -> Object:
    """A replica of db; it runs on n0 unless that is said."""
    own = {"app": "db", "cpu": "1", "owner": f"{kind}/db", "spread": [spread(app="db")]}
    stuck = words.pop("stuck", False)
    found = pod(f"db-{number}", words.pop("on", "n0"), **{"gone": stuck, **own, **words})
    if stuck:
        found["metadata"]["finalizers"] = ["example.com/hold"]
    return found


def stateful(replicas: int) -> Object:
    """The StatefulSet, which does not wait for lower ordinals."""
    spec = {"replicas": replicas, "podManagementPolicy": "Parallel"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": spec,
    }


def test_a_replica_of_a_stateful_set_that_cannot_end_is_down() -> None:
    """What went wrong: another one was evicted beside it, with --max-unavailable 1, and so on to the last."""
    found = cluster(*NODES, stateful(4), replica(0, stuck=True), *(replica(n) for n in range(1, 4)))
    plan = rebalance(found)
    assert (plan.steps, plan.stays) == ((), {DOWN: 3})
    assert len(rebalance(found, max_unavailable=2).steps) == 1


def test_fewer_are_away_at_once_beside_it() -> None:
    """Of three that may be down one is already."""
    found = cluster(*NODES, stateful(7), replica(0, stuck=True), *(replica(n) for n in range(1, 7)))
    waves = [step.wave for step in rebalance(found, max_unavailable=3).steps]
    assert len(waves) == 3
    assert max(map(waves.count, waves)) == 2


def test_consolidate_takes_no_other_replica() -> None:
    """Its waves have one replica of a workload at a time, too."""
    found = [*NODES, stateful(2), replica(1, on="n1", spread=[]), pod("bare", "n0")]
    assert [row.node for row in consolidate(cluster(*found, replica(0, spread=[]))).removed] == ["n1"]
    plan = consolidate(cluster(*found, replica(0, spread=[], stuck=True)))
    assert plan.removed == ()
    assert {row.node: row.reason for row in plan.kept}["n1"] == f"holds a pod {DOWN}"


def test_one_that_ends_is_down_for_seconds_alone() -> None:
    """What is planned meanwhile is not the worse for it; a ReplicaSet replaces even one that cannot end."""
    ends = cluster(*NODES, stateful(4), replica(0, gone=True), *(replica(n) for n in range(1, 4)))
    assert replicas_down(Problem(ends)).total() == 0
    assert rebalance(ends).steps
    kind = "ReplicaSet"
    replaced = cluster(*NODES, replica(0, kind, stuck=True), replica(1, kind), replica(2, kind, on=""))
    assert replicas_down(Problem(replaced)).total() == 0


def test_what_no_controller_wants_is_not_down() -> None:
    """A pod that a scale-down took, and one that nothing makes again."""
    bare = [pod("bare", "n0", gone=True), pod("bare", namespace="other")]
    found = cluster(*NODES, stateful(1), replica(0), replica(1, stuck=True), *bare)
    assert replicas_down(Problem(found)).total() == 0
