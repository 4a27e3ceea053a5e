"""Pods that keep their node from being emptied: not asked, held by a budget, or without an end."""

from dataclasses import replace
from typing import Any

import pytest

from models import Cluster
from planner.proof.effort import STANDARD
from planner.simulation.drain import drain
from tests.builders import Object, node, pod, scaled, workload
from tests.builders import budget as pods_budget
from tests.planner.eviction.jobs import job, of_job
from tests.planner.simulation.rollout.running import running, web, zones
from tests.planner.test_drain import drained

SCRATCH = [{"name": "scratch", "emptyDir": {}}]


def test_a_pod_without_a_controller_blocks_its_node_unless_forced() -> None:
    """kubectl drain evicts nothing on such a node and names the pods; the other nodes are drained."""
    objects = [*running(web(2, constraints=[]), ["a1", "b1"], *zones("abc")), pod("tool", on="a1")]
    plan = drained(objects, "a1", "b1")
    (row,) = plan.blocked
    assert (row.node, row.pod, row.reason) == ("a1", "default/tool", "NoController")
    assert row.message == (
        "cannot delete Pods that declare no controller (use --force to override): default/tool"
    )
    assert [(step.node, len(step.evictions)) for step in plan.steps] == [("b1", 1)]
    assert drained(objects, "a1", "b1", force=True).blocked == ()


def test_a_pod_whose_daemon_set_is_gone_blocks_its_node_unless_forced() -> None:
    """What went wrong: its node was said to be emptied, where kubectl drain asks for each pod's DaemonSet."""
    agent = pod("agent-1", on="a1", owner="DaemonSet/agent", volumes=SCRATCH)
    objects = [*zones("ab"), scaled("DaemonSet", "other", 0), agent]
    (row,) = drained(objects, "a1").blocked
    assert (row.pod, row.reason) == ("default/agent-1", "NoController")
    assert row.message == 'cannot delete daemonsets.apps "agent" not found: default/agent-1'
    plan = drained(objects, "a1", force=True, delete_emptydir_data=True)
    assert [(row.pod, row.lands) for step in plan.steps for row in step.evictions] == [
        ("default/agent-1", None)
    ]
    assert drained([*objects, workload("DaemonSet", "agent")], "a1").blocked == ()


def test_a_pod_whose_template_names_the_node_comes_back() -> None:
    """What went wrong: it was said to land elsewhere, and the script ended at a new pod on the node.

    No scheduler is asked about such a pod, nor does a cordon keep it off.  Others are evicted.
    """
    fixed, other = scaled("ReplicaSet", "fixed", 1), scaled("ReplicaSet", "other", 1)
    pods = [pod("fixed", on="a1", owner=fixed, app="fixed"), pod("other", on="a1", owner=other, app="other")]
    fixed["spec"]["template"]["spec"]["nodeName"] = "a1"
    plan = drained([*zones("ab"), fixed, other, *pods], "a1")
    (row,) = plan.blocked
    assert [(one.pod, one.reason) for one in row.pods] == [("default/fixed", "NodeName")]
    assert "spec.nodeName a1" in row.message
    assert [row.pod for step in plan.steps for row in step.evictions] == ["default/other"]
    pods[0]["spec"]["volumes"] = SCRATCH
    plan = drained([*zones("ab"), fixed, other, *pods], "a1")
    assert [one.reason for row in plan.blocked for one in row.pods] == ["LocalStorage"]
    assert plan.steps == (), "kubectl drain evicts nothing there"


@pytest.mark.parametrize(("nodes", "stay"), [(["a1"], []), (["a1", "b1"], ["default/fixed"])])
def test_a_pod_whose_template_names_another_drained_node_stays(nodes: list[str], stay: list[str]) -> None:
    """What went wrong: it came to b1 at once, which was said to be empty."""
    fixed = scaled("ReplicaSet", "fixed", 1)
    there = pod("fixed", on="a1", owner=fixed, app="fixed")
    fixed["spec"]["template"]["spec"]["nodeName"] = "b1"
    plan = drained([*zones("abc"), fixed, there], *nodes)
    assert [one.pod for row in plan.blocked for one in row.pods] == stay


def test_a_pod_with_scratch_data_blocks_its_node_unless_its_data_may_go() -> None:
    """What went wrong: such pods were evicted and their data with them, where kubectl drain refuses.

    Of a pod that has no controller either kubectl names the volume alone; a hostPath is no local storage.
    """
    web = pod("web", on="a1", owner="ReplicaSet/web", volumes=SCRATCH)
    disk = pod("disk", on="b1", owner="ReplicaSet/disk", volumes=[{"name": "d", "hostPath": {"path": "/d"}}])
    objects = [*zones("abc"), web, disk, pod("tool", on="a1", volumes=SCRATCH), pod("bare", on="a1")]
    plan = drained(objects, "a1", "b1")
    (row,) = plan.blocked
    scratch = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
    bare = "cannot delete Pods that declare no controller (use --force to override)"
    assert [(found.pod, found.reason, found.message) for found in row.pods] == [
        ("default/web", "LocalStorage", f"{scratch}: default/web, default/tool"),
        ("default/tool", "LocalStorage", f"{scratch}: default/web, default/tool"),
        ("default/bare", "NoController", f"{bare}: default/bare"),
    ]
    assert (row.pod, row.reason, row.message) == ("default/web", "LocalStorage", row.pods[0].message)
    assert [(step.node, len(step.evictions)) for step in plan.steps] == [("b1", 1)]
    (row,) = drained(objects, "a1", delete_emptydir_data=True).blocked
    assert [found.pod for found in row.pods] == ["default/tool", "default/bare"]
    plan = drained(objects, "a1", delete_emptydir_data=True, force=True)
    assert plan.blocked == ()
    assert plan.notes[-1] == (
        "default/web and 1 more have emptyDir volumes: kubectl drain asks for --delete-emptydir-data, their "
        "content is lost"
    )


def test_all_pods_that_block_a_node_are_told_each_with_what_lets_it_go() -> None:
    """What went wrong: one pod a node was named, so that the next one was found after a repair."""
    objects = [*zones("ab"), *(pod(name, on="a1", app=name, owner=f"ReplicaSet/{name}") for name in "cde")]
    two = {"metadata": {"name": "two", "namespace": "default"}}
    objects += [pods_budget("none", "c", 0), pods_budget("one", "d", 0), pods_budget("one", "d", 0) | two]
    (row,) = drained(objects, "a1").blocked
    assert (row.pod, row.fixes) == ("default/c", ())
    found = {item.pod: (item.message.partition(".")[0], len(item.fixes)) for item in row.pods}
    assert found == {
        "default/c": ("Cannot evict pod as it would violate the pod's disruption budget", 1),
        "default/d": (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support",
            0,
        ),
    }


@pytest.mark.parametrize(("most", "exhausted"), [(1, False), (100, True)])
def test_only_what_was_tried_out_is_told_as_no_help(most: int, exhausted: bool) -> None:
    """What went wrong: that nothing helps was said of pods for which nothing was tried out."""
    objects: list[Object] = [node("a1", labels={"pool": "old"}), node("b1", cpu="1")]
    for name in "cde":
        objects.append(pod(name, on="a1", app=name, owner=f"ReplicaSet/{name}", cpu="1"))
        objects += [pods_budget(name, name, 0), pods_budget(f"{name}-too", name, 0)]
    effort = replace(STANDARD, drain=replace(STANDARD.drain, pods_of_fixes=3 * most))
    (row,) = drain(Cluster.from_objects(objects), ["a1"], effort=effort).blocked
    assert {item.exhausted for item in row.pods} == {row.exhausted} == {exhausted}


def _unready(name: str, on: str, **words: Any) -> Object:
    return pod(name, on=on, app="web", owner="ReplicaSet/web", **words)


@pytest.mark.parametrize("budgets", [1, 2])
@pytest.mark.parametrize("phase", ["Pending", None])
def test_no_budget_holds_a_pod_that_has_not_started(phase: str | None, budgets: int) -> None:
    """What went wrong: such nodes were told to be stuck, where the eviction API lets Pending pods go at once.

    Snapshots once left the phase out where it is Pending; that the pod was scheduled they say.
    """
    words = {"phase": phase, "conditions": [{"type": "PodScheduled", "status": "True"}]}
    objects = [*zones("abc"), _unready("w1", "a1", **words), _unready("w2", "b1", **words)]
    if phase is None:
        for item in objects[3:]:
            del item["status"]["phase"]
    status = {"desiredHealthy": 1, "currentHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 2}
    named = [pods_budget(f"b{number}", "web", minAvailable=1) for number in range(budgets)]
    objects += [item | {"status": status} for item in named]
    plan = drained(objects, "a1", "b1")
    assert plan.blocked == ()
    assert [row.lands for step in plan.steps for row in step.evictions] == ["c1", "c1"]


@pytest.mark.parametrize(
    ("spec", "status", "goes"),
    [
        ({"maxUnavailable": 1}, (1, 1), True),
        ({"maxUnavailable": 1}, (0, 1), False),
        ({"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}, (0, 1), True),
        ({"minAvailable": 0}, (0, 0), False),
        ({"minAvailable": 0}, (1, 0), True),
    ],
)
def test_a_pod_that_runs_and_is_not_ready(spec: Object, status: tuple[int, int], goes: bool) -> None:
    """It goes while enough others are healthy, or any; a budget that wants none and has none refuses it.

    What went wrong: the last of these was told to go.  The API asks a budget that wants no pod healthy for a
    disruption as of any other pod, and allows none where none is healthy.
    """
    healthy, desired = status
    sick = _unready("sick", "a1", conditions=[{"type": "Ready", "status": "False"}])
    found = pods_budget("some", "web", **spec)
    found["status"] = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": max(0, healthy - desired),
        "expectedPods": 2,
    }
    plan = drained([*zones("ab"), sick, found], "a1", fixes=False)
    assert [row.pod for row in plan.blocked] == ([] if goes else ["default/sick"])


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
@pytest.mark.parametrize(
    ("words", "reason"),
    [({"finalizers": ["example.com/hold"]}, "Finalizer"), ({}, "NodeNotReady"), ({"gone": 1}, "Terminating")],
)
def test_a_pod_that_does_not_end_keeps_its_node(kind: str, words: dict[str, Any], reason: str) -> None:
    """A finalizer, a kubelet that is away, a pod Terminating for long: no node is said to be empty.

    The room is not free, and a StatefulSet makes no pod of that name before it is.
    """
    sick = ["node.kubernetes.io/unreachable:NoExecute"] if reason == "NodeNotReady" else []
    owner = workload(kind, "web")
    owner["spec"]["replicas"] = 1
    found = pod("web-0", on="a1", app="web", owner=owner, gone=reason == "Terminating")
    found["metadata"]["finalizers"] = words.get("finalizers", [])
    now = pod("other", on="b1", owner="ReplicaSet/other", created="2024-01-01T01:00:00Z")
    objects = [node("a1", taints=sick), node("b1"), owner, found, now]
    plan = drained(objects, "a1")
    (row,) = plan.blocked
    assert (row.node, row.pod, row.reason, row.fixes) == ("a1", "default/web-0", reason, ())
    lands = [eviction.lands for step in plan.steps for eviction in step.evictions]
    expected = [] if reason == "Terminating" else [None if kind == "StatefulSet" else "b1"]
    assert lands == expected


def test_finalizers_of_kubernetes_itself_are_taken_away() -> None:
    """Every pod of a Job has one, which the Job controller removes when it has counted the pod."""
    found = of_job("sums-0", "n1", spread=[])
    found["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    assert drained([node("n1"), node("n2"), job(backoffLimit=5), found], "n1").blocked == ()


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_finished_pod_that_a_finalizer_holds_keeps_its_node(phase: str) -> None:
    """What went wrong: kubelets mark a deleted pod as finished, and the node was said to be empty.

    kubectl drain waits for it until the finalizer is removed; finished pods without one are no hindrance.
    """
    held, done = (pod(name, on="a1", owner="ReplicaSet/web", phase=phase) for name in ("held", "done"))
    held["metadata"]["finalizers"] = ["example.com/hold"]
    (row,) = drained([*zones("ab"), held, done], "a1").blocked
    assert (row.node, row.pod, row.reason, len(row.pods)) == ("a1", "default/held", "Finalizer", 1)
    assert drained([*zones("ab"), done], "a1").blocked == ()


def test_a_pod_without_a_grace_period_needs_no_kubelet_to_end() -> None:
    """The API server deletes it at once, also on a node that is unreachable."""
    owner = workload("ReplicaSet", "web")
    found = pod("web-0", on="a1", app="web", owner=owner, terminationGracePeriodSeconds=0)
    sick = node("a1", taints=["node.kubernetes.io/unreachable:NoExecute"])
    assert drained([sick, node("b1"), owner, found], "a1").blocked == ()


@pytest.mark.parametrize("counted", [False, True])
def test_pods_that_come_give_a_budget_only_what_it_lacks(counted: bool) -> None:
    """What went wrong: where nobody had counted, one more was enough, whatever was wanted."""
    words = {"app": "web", "owner": "ReplicaSet/web"}
    status = {"currentHealthy": 1, "desiredHealthy": 2, "disruptionsAllowed": 0, "expectedPods": 2}
    wanted = pods_budget("b", "web", minAvailable=2) | ({"status": status} if counted else {})
    plan = drained([*zones("ab"), pod("w1", on="a1", **words), pod("w2", **words), wanted], "a1")
    assert [row.pod for row in plan.blocked] == ["default/w1"]
    assert plan.after.pending == 0


def test_a_budget_that_asks_for_nothing_never_lets_a_pod_go() -> None:
    """What went wrong: it let all go, where the disruption controller lets none; no new pod changes that."""
    objects = running(web(2, constraints=[]), ["a1", "b1"], *zones("ab"))
    (row,) = drained([*objects, pods_budget("b", "web", namespace="shop", minAvailable=None)], "a1").blocked
    assert [fix.changes[0].summary for fix in row.fixes] == ["PodDisruptionBudget b with maxUnavailable 1"]
