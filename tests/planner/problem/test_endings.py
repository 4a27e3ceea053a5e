"""Pods that would stay Terminating are not moved, and those that are so already are told."""

from typing import Any

import pytest

from planner import check, consolidate, drain, rebalance, solve
from planner.problem.endings import FINALIZER, NOT_READY
from tests.builders import LONG_AGO, Object, cluster, node, pod, spread
from tests.planner.explain.asking import only

HOLD = ["example.com/hold"]
TAINT = "node.kubernetes.io/unreachable:NoExecute"
#: What is the matter with a node or its pods, and the reason that is told.
ENDLESS = [("taint", NOT_READY), ("condition", NOT_READY), ("finalizer", FINALIZER)]


def sick(cause: str) -> Object:
    """A node without a kubelet that answers, told by a taint or a condition; else one that is well."""
    found = node("n0", zone="a", taints=[TAINT] if cause == "taint" else [])
    if cause == "condition":
        found["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    return found


def held(name: str, on: str, cause: str, **words: Any) -> Object:
    """A pod of a ReplicaSet, with a finalizer if that is the cause."""
    found = pod(name, on, **{"app": "web", "cpu": "1", "owner": "ReplicaSet/web", **words})
    if cause == "finalizer":
        found["metadata"]["finalizers"] = HOLD
    return found


@pytest.mark.parametrize(("cause", "reason"), ENDLESS)
def test_rebalance_leaves_pods_that_would_not_end(cause: str, reason: str) -> None:
    """What went wrong: they were evicted, stayed Terminating, and the cluster was called balanced."""
    pods = [held(f"w{number}", "n0", cause, spread=[spread()]) for number in range(3)]
    plan = rebalance(cluster(sick(cause), node("n1", zone="b"), *pods))
    assert (plan.steps, plan.stays) == ((), {reason: 3})


@pytest.mark.parametrize(("cause", "reason"), ENDLESS)
def test_consolidate_leaves_them(cause: str, reason: str) -> None:
    """Their node stays, and the plan names the pod or the node's state."""
    plan = consolidate(cluster(sick(cause), node("n1"), held("w", "n0", cause), pod("bare", "n1")))
    assert plan.removed == ()
    told = "not ready: evictions do not end there" if reason == NOT_READY else f"holds a pod {reason}"
    assert {row.node: row.reason for row in plan.kept}["n0"] == told


@pytest.mark.parametrize(("cause", "reason"), ENDLESS)
def test_solve_leaves_them(cause: str, reason: str) -> None:
    """A pending pod gets no room by evictions that do not end; a note says how many pods stay."""
    small = [held(f"w{number}", f"n{number}", cause, cpu="2") for number in range(2)]
    nodes = [sick(cause), {**sick(cause), "metadata": node("n1")["metadata"]}]
    tolerant = [{"operator": "Exists"}]
    plan = solve(cluster(*nodes, *small, pod("big", cpu="3", tolerations=tolerant)), allow_moves=True)
    assert plan.steps == ()
    assert plan.notes[-1] == f"2 pods {reason}: not moved"


def test_a_deletion_that_does_not_end_is_no_safe_fix() -> None:
    """It frees no room."""
    found = only(node("n0"), held("w", "n0", "finalizer", cpu="2"), pod("big", cpu="3"))
    assert not any(change.action == "DeletePod" for fix in found.fixes for change in fix.changes)
    assert f"default/w is a pod {FINALIZER}" in [fix.risk for fix in found.risky]


@pytest.mark.parametrize(("cause", "reason"), ENDLESS)
def test_drain_has_the_same_rule(cause: str, reason: str) -> None:
    """What is not moved for this is what blocks a node that is drained."""
    (row,) = drain(cluster(sick(cause), node("n1"), held("w", "n0", cause)), ["n0"]).blocked
    assert row.reason == ("NodeNotReady" if reason == NOT_READY else "Finalizer")


def test_pods_that_end_without_a_kubelet_are_moved() -> None:
    """Without a grace period the API server deletes them; the finalizer of Jobs is taken away in time."""
    own = ["batch.kubernetes.io/job-tracking"]
    pods = [
        held(f"w{n}", "n0", "", spread=[spread()], terminationGracePeriodSeconds=0, finalizers=own)
        for n in range(3)
    ]
    assert len(rebalance(cluster(sick("taint"), node("n1", zone="b"), *pods)).steps) == 1


def ended(cause: str, kind: str = "StatefulSet") -> Object:
    """A Terminating pod on n0."""
    return held("db-0", "n0", cause, owner=f"{kind}/db", gone=True)


@pytest.mark.parametrize(("cause", "reason"), [*ENDLESS, ("late", "")])
def test_a_node_with_a_pod_that_stays_terminating_is_not_empty(cause: str, reason: str) -> None:
    """What went wrong: it was among the nodes that can go, empty at once."""
    later = pod("bare", "n1", created="2024-01-01T01:00:00Z" if cause == "late" else LONG_AGO)
    plan = consolidate(cluster(sick(cause), node("n1"), ended(cause), later))
    assert plan.removed == ()
    told = {row.node: (row.pod, row.reason) for row in plan.kept}["n0"]
    if reason == NOT_READY:
        assert told == (None, "not ready: evictions do not end there")
    else:
        assert told[0] == "default/db-0"
        assert told[1].startswith("holds a Terminating pod: it s")
    assert [row.node for row in consolidate(cluster(node("n0"), node("n1"), ended(""), later)).removed] == (
        ["n0"] if cause != "late" else []
    )


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        ("taint", "node n0 has the taint node.kubernetes.io/unreachable"),
        ("condition", "node n0 is not ready (Ready is Unknown)"),
        ("finalizer", "it stays Terminating until its finalizer example.com/hold is removed"),
    ],
)
def test_pods_that_stay_terminating_are_told(cause: str, why: str) -> None:
    """What went wrong: `Balanced`, and no word about the replicas that were not there."""
    found = cluster(sick(cause), node("n1"), ended(cause))
    note = (
        "1 Terminating pod cannot end, and till then a StatefulSet makes no other one of the same name: "
        f"default StatefulSet/db, 1 ({why})"
    )
    assert note in check(found).notes
    assert note in rebalance(found).notes


def test_pods_that_end_or_belong_to_their_node_are_not_told() -> None:
    """A kubelet that answers ends pods; a DaemonSet has no pod elsewhere for one that does not end."""
    for found in ([sick(""), ended("")], [sick("taint"), ended("", "DaemonSet")]):
        assert not any("Terminating" in note for note in check(cluster(*found, node("n1"))).notes)
