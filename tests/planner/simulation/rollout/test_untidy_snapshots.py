"""Rollouts of clusters with pods that have ended, are Terminating, start, or are on nodes that are gone."""

from __future__ import annotations

from typing import Any

import pytest

from models import Cluster, InputError
from planner import rollout
from planner.documents.rollout import Rollout
from planner.simulation.rollout.draw import begin
from planner.simulation.rollout.prepare import prepare
from planner.simulation.rollout.stateful_set import StatefulSetRun
from tests.builders import LONG_AGO, ZONE, Object, replica, scaled
from tests.planner.simulation.rollout.running import manifests, running, web, zones


def applied(objects: list[Object], *items: Object, replays: int = 4) -> Rollout:
    """What applying the manifests to these objects leads to."""
    return rollout(Cluster.from_objects(objects), manifests(*items), replays=replays)


def changed(
    objects: list[Object], name: str, *, status: Object | None = None, **metadata: Any
) -> list[Object]:
    """The objects, one pod of them with this status and metadata."""
    (found,) = (item for item in objects if item["metadata"]["name"] == name)
    found["metadata"] |= metadata
    found["status"] = found["status"] if status is None else status
    return objects


@pytest.mark.parametrize("restart", [True, False])
def test_a_dump_has_the_replica_sets_of_its_deployments(restart: bool) -> None:
    """What went wrong: with --restart a Deployment and its ReplicaSet each undid what the other did."""
    objects = running(web(2), ["a1", "b1"], *zones("ab"))
    dump = [item for item in objects if item["kind"] in {"Deployment", "ReplicaSet"}]
    new = Cluster.from_objects(objects)
    found = rollout(new, manifests(*dump), replays=4, restart=restart)
    assert found.completes
    assert [item.workload for item in found.workloads] == ["Deployment/web"]
    assert "ReplicaSet shop/web-old is left to its Deployment: its manifest is not applied" in found.notes
    assert rollout(new, manifests(dump[0]), replays=4, restart=restart).workloads == found.workloads


def test_a_dump_may_have_nothing_but_replica_sets_of_deployments() -> None:
    """What went wrong: it was said that the manifests have no workload, not why none is rolled out."""
    objects = running(web(2), ["a1", "b1"], *zones("ab"))
    dump = [item for item in objects if item["kind"] == "ReplicaSet"]
    with pytest.raises(InputError, match="ReplicaSet shop/web-old is left to its Deployment"):
        applied(objects, *dump)


def test_a_dump_has_the_replica_sets_of_its_rollouts() -> None:
    """What went wrong: they were applied like ReplicaSets that nothing owns."""
    argo: Object = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    objects = running(web(2), ["a1", "b1"], *zones("ab"))
    rollout_, owned = (item for item in objects if item["kind"] in {"Deployment", "ReplicaSet"})
    rollout_ |= argo
    owned["metadata"]["ownerReferences"][0] |= argo
    older = {**owned, "spec": {**owned["spec"], "replicas": 5}}
    with pytest.raises(InputError, match="ReplicaSet shop/web-old is left to its Rollout"):
        applied(objects, rollout_, older)


@pytest.mark.parametrize(
    ("hard", "completes"),
    [({"pods": "3"}, True), ({"requests.cpu": "300m"}, True), ({"count/pods": "3"}, False)],
)
def test_a_pod_that_does_not_end_counts_for_a_quota_of_objects_alone(
    hard: dict[str, str], completes: bool
) -> None:
    """What went wrong: it kept its replacement from being made, though a quota takes it for stuck in time."""
    lost, *others = zones("abc")
    lost["spec"] = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]}
    item = web(3, constraints=[], strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})
    there = running(item, ["a1", "b1", "c1"], lost, *others)
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "all", "namespace": "shop"},
        "spec": {"hard": hard},
    }
    cluster = Cluster.from_objects([*changed(there, "web-old-0", status=unready), quota])
    found = rollout(cluster, manifests(item), replays=12, restart=True)
    assert found.completes is completes


@pytest.mark.parametrize(
    ("kind", "strategy", "completes"),
    [
        ("Deployment", {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}, True),
        ("Deployment", {"strategy": {"type": "Recreate"}}, True),
        ("DaemonSet", {}, True),
        ("StatefulSet", {}, False),
    ],
)
def test_a_pod_that_a_finalizer_holds_has_stopped(kind: str, strategy: Object, completes: bool) -> None:
    """What went wrong: it held its room for ever.

    Its kubelet ends its containers and says that it has failed or succeeded: only its name is taken still.
    """
    item = web(1, constraints=[], cpu="3", kind=kind, **strategy)
    (name,) = (found["metadata"]["name"] for found in running(item, ["a1"]) if found["kind"] == "Pod")
    objects = changed(running(item, ["a1"], *zones("a")), name, finalizers=["example.com/hold"])
    found = rollout(Cluster.from_objects(objects), manifests(item), replays=4, restart=True)
    assert found.completes is completes
    assert ("example.com/hold is removed" in found.workloads[0].message) is not completes


def of_kind(replicas: int, kind: str) -> Object:
    """A workload `web` of such a kind, without constraints."""
    item = web(replicas, kind=kind, constraints=[])
    if kind == "Job":
        item |= {"apiVersion": "batch/v1"}
        item["spec"] = {
            "template": item["spec"]["template"],
            "parallelism": replicas,
            "completions": replicas,
        }
    if kind == "ReplicationController":
        item |= {"apiVersion": "v1"}
        item["spec"]["selector"] = {"app": "web"}
    return item


@pytest.mark.parametrize("kind", ["ReplicaSet", "ReplicationController"])
@pytest.mark.parametrize("left", [{"status": {"phase": "Failed"}}, {"deletionTimestamp": LONG_AGO}])
def test_a_pod_that_has_ended_or_is_told_to_go_is_no_replica(kind: str, left: dict[str, Any]) -> None:
    """A second pod was asked for and the leftover was taken for it: there was no place, an internal error."""
    objects = changed(running(of_kind(1, kind), ["a1", "a1"], *zones("ab")), "web-1", **left)
    found = applied(objects, of_kind(2, kind))
    assert found.completes
    assert {sum(end.domains[ZONE].values()) for end in found.workloads[0].ends} == {2}


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "Job", "Deployment"])
@pytest.mark.parametrize("replicas", [2, 3])
def test_a_pod_on_a_node_that_is_gone_is_made_anew(kind: str, replicas: int) -> None:
    """It took the place of the pod that follows it, which ended with an internal error or a KeyError."""
    before = replicas if kind == "Job" else 2
    objects = running(of_kind(before, kind), ["a1", "gone"], *zones("ab"))
    found = applied(objects, of_kind(replicas, kind))
    assert found.completes
    assert {sum(end.domains[ZONE].values()) for end in found.workloads[0].ends} == {replicas}


def test_a_pod_of_a_job_that_succeeded_on_a_node_that_is_gone_counts() -> None:
    """Its node may go, what it has done stays."""
    objects = running(of_kind(2, "Job"), ["a1", "gone"], *zones("ab"))
    found = applied(changed(objects, "web-1", status={"phase": "Succeeded"}), of_kind(2, "Job"))
    assert found.completes
    assert {sum(end.domains[ZONE].values()) for end in found.workloads[0].ends} == {1}


def test_recreate_waits_for_pods_that_are_terminating_in_the_snapshot() -> None:
    """The new pod was made while the old one ended, and its room was never freed: no rollout completed."""
    objects = running(web(1, cpu="3", constraints=[]), ["a1"], *zones("a"))
    objects = changed(objects, "web-old-0", deletionTimestamp=LONG_AGO)
    for item in objects:
        if "replicas" in item["spec"]:
            item["spec"]["replicas"] = 0
    recreated = web(1, cpu="2", constraints=[], strategy={"type": "Recreate"})
    prepared = prepare(Cluster.from_objects(objects), manifests(recreated))
    for seed in (None, *range(1, 9)):
        begun = begin(prepared, seed, preemption=True)
        begun.timeline.apply()
        simulation, run = begun.simulation, begun.runs[0]
        for _ in range(2_000):
            begun.timeline.run(1)
            assert not (simulation.leaving and simulation.alive[run.pods].any())
        assert run.completes(simulation)


IN_ORDER: Object = {"kind": "StatefulSet"}
PARALLEL: Object = {"kind": "StatefulSet", "podManagementPolicy": "Parallel"}
ON_NODES: Object = {"kind": "DaemonSet"}
SURGING: Object = {"kind": "DaemonSet", "updateStrategy": {"rollingUpdate": {"maxSurge": 1}}}


@pytest.mark.parametrize(("spec", "ready"), [(IN_ORDER, 1), (PARALLEL, 1), (ON_NODES, 1), (SURGING, 0)])
def test_what_follows_a_pod_that_is_terminating_in_the_snapshot(spec: Object, ready: int) -> None:
    """Its name, or its node, is not free yet: the next pod was made at once, and evicted another for room."""
    critical: Object = {"priorityClassName": "system-cluster-critical"}
    item = web(1, cpu="2", constraints=[], pod=critical, **spec)
    objects = changed(running(item, ["a1"], *zones("a")), "web-0", deletionTimestamp=LONG_AGO)
    filler = scaled("ReplicaSet", "filler", 1, namespace="shop", cpu="2")
    found = applied([*objects, filler, replica(filler, "filler-1", "a1")], filler, item)
    assert found.completes
    assert {row.workload: row.least_ready for row in found.workloads}["ReplicaSet/filler"] == ready


@pytest.mark.parametrize(("policy", "ready"), [("Failed", 1), ("TerminatingOrFailed", 0)])
def test_what_follows_a_pod_of_a_job_that_is_terminating(policy: str, ready: int) -> None:
    """With `Failed` no other is made until it has ended; it was made at once, and evicted another."""
    item = web(1, cpu="2", constraints=[], kind="Job", pod={"priorityClassName": "system-cluster-critical"})
    item |= {"apiVersion": "batch/v1"}
    item["spec"] = {
        "template": item["spec"]["template"],
        "podReplacementPolicy": policy,
        "parallelism": 1,
        "completions": 1,
    }
    objects = changed(running(item, ["a1"], *zones("a")), "web-0", deletionTimestamp=LONG_AGO)
    filler = scaled("ReplicaSet", "filler", 1, namespace="shop", cpu="2")
    found = applied([*objects, filler, replica(filler, "filler-1", "a1")], filler, item)
    assert found.completes
    assert {row.workload: row.least_ready for row in found.workloads}["ReplicaSet/filler"] == ready


def test_an_ordered_set_waits_for_a_pod_too_many_that_is_terminating() -> None:
    """The next one goes when it has ended."""
    objects = running(of_kind(3, "StatefulSet"), ["a1", "a1", "a1"], *zones("a"))
    cluster = Cluster.from_objects(changed(objects, "web-2", deletionTimestamp=LONG_AGO))
    begun = begin(prepare(cluster, manifests(of_kind(1, "StatefulSet"))), None, preemption=True)
    (run,), simulation = begun.runs, begun.simulation
    assert isinstance(run, StatefulSetRun)
    assert not run.due(simulation)
    for pod in [*simulation.leaving]:
        simulation.end(pod)
    assert run.due(simulation).gone == [run.old[1]]


STARTING: Object = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
@pytest.mark.parametrize(("replicas", "cpu"), [(3, "100m"), (4, "100m"), (3, "200m"), (1, "100m")])
def test_a_pod_that_starts_becomes_ready(kind: str, replicas: int, cpu: str) -> None:
    """Bound and Pending in the snapshot, it never became ready, and what waited for it stopped at once."""
    objects = running(web(3, kind=kind, constraints=[]), ["a1", "b1", "a1"], *zones("ab"))
    name = "web-old-1" if kind == "Deployment" else "web-1"
    found = applied(
        changed(objects, name, status=STARTING), web(replicas, cpu=cpu, kind=kind, constraints=[])
    )
    assert found.completes
    assert {sum(end.domains[ZONE].values()) for end in found.workloads[0].ends} == {replicas}


@pytest.mark.parametrize("reason", ["ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError"])
def test_a_pod_that_cannot_start_does_not_become_ready(reason: str) -> None:
    """Its image cannot be pulled, and it was taken to become ready: the rollout was said to complete."""
    waiting = {"containerStatuses": [{"name": "main", "state": {"waiting": {"reason": reason}}}]}
    objects = running(web(2, kind="StatefulSet", constraints=[]), ["a1", "b1"], *zones("ab"))
    objects = changed(objects, "web-0", status={**STARTING, **waiting})
    found = applied(objects, web(3, kind="StatefulSet", constraints=[]))
    assert (found.completes, found.replays.completed) == (False, 0)
    assert found.workloads[0].message == f"web-0 does not start: {reason}"


def test_a_pod_that_starts_runs_to_its_end() -> None:
    """A pod of a Job that is bound and Pending in the snapshot succeeds like the others."""
    objects = running(of_kind(2, "Job"), ["a1", "b1"], *zones("ab"))
    assert applied(changed(objects, "web-1", status=STARTING), of_kind(2, "Job")).completes


def test_a_pod_that_runs_and_is_not_ready_stays_so() -> None:
    """What is wrong with it is not known, and so not when it ends."""
    objects = running(web(2, constraints=[]), ["a1", "b1"], *zones("ab"))
    sick = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    found = applied(changed(objects, "web-old-1", status=sick), web(3, constraints=[]))
    assert not found.completes


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_a_pod_that_stays_unready_is_named(kind: str) -> None:
    """What went wrong: the rollout stopped, and nothing said because of which pod."""
    objects = running(web(2, kind=kind, constraints=[]), ["a1", "b1"], *zones("ab"))
    unready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    item = web(2, kind=kind, constraints=[], updateStrategy={"type": "OnDelete"})
    found = applied(changed(objects, "web-0", status=unready), item)
    assert not found.completes
    assert found.workloads[0].message == "web-0 runs and is not ready"


@pytest.mark.parametrize("replicas", [0, 1])
def test_pods_of_lost_nodes_are_made_until_a_deployment_is_scaled_down(replicas: int) -> None:
    """Nine are made where its ReplicaSet is quicker: there were places for as many as are wanted alone."""
    objects = running(web(10), ["a1", *["gone"] * 9], *zones("a"))
    found = applied(objects, web(replicas), replays=20)
    assert [end.domains for end in found.workloads[0].ends] == [{ZONE: {"a": replicas}}]
