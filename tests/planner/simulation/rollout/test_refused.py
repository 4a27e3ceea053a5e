"""Applies that the API server refuses, and pods that it will not make: never a rollout that completes."""

from typing import Any

import pytest

from models import Cluster, InputError
from planner import simulate
from planner.simulation.rollout.refused import refusals
from tests.builders import Object, cluster, node, replica, revision, scaled
from tests.planner.simulation.rollout.running import applied, running, web, zones

CLAIM: Object = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
STORAGE: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "std", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "example.com/disk",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def rules(kind: str, **spec: Any) -> Object:
    """A ResourceQuota or LimitRange of the namespace shop."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "q", "namespace": "shop"}, "spec": spec}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (web(2, selector={"matchLabels": {"tier": "x"}}), "spec.selector: Invalid value: field is immutable"),
        (web(2, pod={"nodeName": "gone"}), 'spec.template.spec.nodeName: there is no node "gone"'),
    ],
)
def test_a_deployment_that_would_not_be_applied(changed: Object, words: str) -> None:
    """An error in the API server's words; the same workload without the change is applied."""
    if "tier" in str(changed["spec"]["selector"]):
        changed["spec"]["template"]["metadata"]["labels"]["tier"] = "x"
    there = running(web(2), ["a1", "b1"], *zones("ab"))
    with pytest.raises(InputError, match=f"Deployment shop/web.*{words}"):
        applied(there, changed)
    assert applied(there, web(2), replays=1).completes


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
@pytest.mark.parametrize("template", [None, {"metadata": {"labels": {"app": "web"}}, "spec": {}}])
def test_a_workload_needs_containers(kind: str, template: Object | None) -> None:
    """Whether it is new or not; without them there is nothing to make pods from."""
    for there in (zones("ab"), running(web(2, kind=kind), ["a1", "b1"], *zones("ab"))):
        lacks = web(2, kind=kind)
        lacks["spec"]["template"] = template
        with pytest.raises(InputError, match=r"spec\.template\.spec\.containers: Required value"):
            applied(there, lacks)


def test_an_old_revision_may_have_no_pods_yet() -> None:
    """Asked for some it has none, as after a quota has gone: they come, until the new one has its own."""
    owner = web(2)
    owner["metadata"]["uid"] = "web"
    old = revision(owner)
    old["spec"]["template"]["spec"]["containers"][0]["image"] = "before"
    assert applied([*zones("ab"), owner, old], owner).completes


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_a_workload_needs_a_selector(kind: str) -> None:
    """Of the groups that are still served none makes one from the template's labels."""
    lacks = web(2, kind=kind)
    del lacks["spec"]["selector"]
    with pytest.raises(InputError, match=r"spec\.selector: Required value"):
        applied(zones("ab"), lacks)


def job(*, suspended: bool, pod: Object | None = None, **spec: Any) -> Object:
    """A Job of one container."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], **(pod or {})}}
    whole = {"suspend": suspended, "template": template, **spec}
    metadata = {"name": "once", "namespace": "shop", "uid": "once"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": whole}


_MORE = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}
_ON_ZONE = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_INDEXED = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}


@pytest.mark.parametrize(
    ("before", "after", "when_suspended", "when_running"),
    [
        ({}, {"pod": {"containers": [_MORE]}}, "", "template"),
        ({}, {"pod": {"nodeSelector": {"a": "b"}}}, "", "template"),
        ({}, {"pod": {"tolerations": [{"operator": "Exists"}]}}, "", "template"),
        ({}, {"pod": {"schedulingGates": [{"name": "g"}]}}, "", "template"),
        (
            {},
            {"pod": {"affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [_ON_ZONE]}}}}},
            "",
            "template",
        ),
        (
            {},
            {"pod": {"affinity": {"podAffinity": {_REQUIRED: [{"topologyKey": "z", "labelSelector": {}}]}}}},
            "template",
            "template",
        ),
        ({}, {"pod": {"containers": [{**_MORE, "image": "other"}]}}, "template", "template"),
        ({}, {"pod": {"priorityClassName": "p"}}, "template", "template"),
        ({}, {"completions": 3}, "completions", "completions"),
        ({}, {"completions": 1, "parallelism": 3}, "", ""),
        ({}, {"completionMode": "Indexed"}, "completionMode", "completionMode"),
        (_INDEXED, _INDEXED | {"backoffLimitPerIndex": 1}, "backoffLimitPerIndex", "backoffLimitPerIndex"),
        ({}, {"managedBy": "example.com/queue"}, "managedBy", "managedBy"),
        (_INDEXED, {**_INDEXED, "completions": 3}, "completions", "completions"),
        (_INDEXED, {**_INDEXED, "completions": 3, "parallelism": 3}, "", ""),
    ],
)
def test_of_a_job_some_fields_may_change_while_it_is_suspended(
    before: Object, after: Object, when_suspended: str, when_running: str
) -> None:
    """As kube-apiserver 1.36.2 takes them or not."""
    for suspended, field in ((True, when_suspended), (False, when_running)):
        there = Cluster.from_objects([*zones("a"), job(suspended=suspended, **before)])
        changed = Cluster.from_objects([job(suspended=suspended, **after)], partial=True)
        found = [line.partition(": ")[2] for line in refusals(there, changed) if "nodeName" not in line]
        assert found == ([f"spec.{field}: Invalid value: field is immutable"] if field else [])


def test_a_job_that_waits_may_be_applied_again() -> None:
    """Its ServiceAccount fills the old field, too; and what would help is refused, which is no error."""
    (zone, *_) = zones("a")
    pod: Object = {"serviceAccountName": "robot", "nodeSelector": {"no": "where"}}
    there, again = job(suspended=False, pod=pod), job(suspended=False, pod=pod)
    there["spec"]["template"]["spec"]["serviceAccount"] = "robot"
    del again["metadata"]["uid"]
    found = applied([zone, there], again, replays=1)
    assert not found.completes
    assert [fix.changes[0].action for fix in found.fixes] == ["AddNode"]


def test_of_a_stateful_set_only_some_fields_may_change() -> None:
    """Not the policy, nor the claims; the number of replicas and the template may."""
    before = web(2, kind="StatefulSet", volumeClaimTemplates=[CLAIM])
    there = [*running(before, ["a1", "b1"], *zones("ab")), STORAGE]
    larger = {**CLAIM, "spec": {**CLAIM["spec"], "resources": {"requests": {"storage": "2Gi"}}}}
    for policy, claim in (("Parallel", CLAIM), ("OrderedReady", larger)):
        after = web(2, kind="StatefulSet", podManagementPolicy=policy, volumeClaimTemplates=[claim])
        with pytest.raises(InputError, match="StatefulSet shop/web: spec: Forbidden: updates to statefulset"):
            applied(there, after)
    more = web(3, cpu="200m", kind="StatefulSet", volumeClaimTemplates=[CLAIM])
    assert applied(there, more, replays=1).workloads[0].workload == "StatefulSet/web"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (
            rules("ResourceQuota", hard={"persistentvolumeclaims": "1"}),
            "exceeded quota: q, requested: persistentvolumeclaims=1, used: persistentvolumeclaims=1, "
            "limited: persistentvolumeclaims=1",
        ),
        (
            rules("ResourceQuota", hard={"requests.storage": "1536Mi"}),
            "exceeded quota: q, requested: requests.storage=1Gi, used: requests.storage=1Gi, "
            "limited: requests.storage=1536Mi",
        ),
        (
            rules("LimitRange", limits=[{"type": "PersistentVolumeClaim", "max": {"storage": "500Mi"}}]),
            "maximum storage usage per PersistentVolumeClaim is 500Mi, but request is 1Gi",
        ),
        (rules("ResourceQuota", hard={"persistentvolumeclaims": "2"}), ""),
        (rules("ResourceQuota", hard={"persistentvolumeclaims": "1"}, scopes=["NotTerminating"]), ""),
    ],
)
def test_claims_are_counted_and_bounded(rule: Object, line: str) -> None:
    """The claims of a StatefulSet come before its pods; a quota with scopes counts none."""
    found = applied([*zones("ab"), STORAGE, rule], web(2, kind="StatefulSet", volumeClaimTemplates=[CLAIM]))
    assert found.completes == (not line)
    assert found.workloads[0].message == (line and f"not created: forbidden: {line}")


def test_a_claim_that_is_there_is_counted_once() -> None:
    """It is the quota's only one, and the pod that comes back uses it."""
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **CLAIM}
    claim["metadata"] = {"name": "data-web-0", "namespace": "shop", "uid": "u"}
    quota = rules("ResourceQuota", hard={"persistentvolumeclaims": "1"})
    once = web(1, kind="StatefulSet", volumeClaimTemplates=[CLAIM])
    assert applied([*zones("a"), STORAGE, quota, claim], once, replays=1).completes


def test_a_paused_deployment_that_is_new_makes_no_pods() -> None:
    """There is no ReplicaSet to scale: it does not complete, and a note says that it is paused."""
    found = applied(zones("a"), web(2, paused=True), replays=2)
    assert not found.completes
    assert found.workloads[0].steps == ()
    assert "Deployment shop/web is paused: it is only scaled, and no template is rolled out" in found.notes


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {"type": "OnDelete"}, True),
        ({}, {"type": "OnDelete", "rollingUpdate": None}, False),
        ({"type": "OnDelete"}, {"type": "OnDelete"}, False),
        ({}, {"type": "RollingUpdate"}, False),
    ],
)
def test_what_rolling_updates_had_is_left_beside_on_delete(before: Object, after: Object, told: bool) -> None:
    """The API server refuses that, and nothing was said."""
    old, new = (web(1, kind="StatefulSet", updateStrategy=strategy) for strategy in (before, after))
    notes = applied(running(old, ["a1"], *zones("a")), new, replays=1).notes
    assert any("refuses beside OnDelete" in note for note in notes) == told


def test_a_namespace_that_is_being_deleted_takes_no_pods() -> None:
    """Neither from a rollout nor from what runs."""
    ending = {"name": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    there = [*zones("a"), {"apiVersion": "v1", "kind": "Namespace", "metadata": ending}]
    line = "not created: forbidden: unable to create new content in namespace shop because it is being "
    line += "terminated"
    assert applied(there, web(1), replays=1).workloads[0].message == line
    (row,) = simulate(cluster(*there, web(1))).pending
    assert row.message == line


def test_a_template_with_a_priority_class_that_is_not_there_makes_no_pods() -> None:
    """The workload is applied, its pods are refused; what else is asked of the cluster has its answer."""
    line = "not created: forbidden: no PriorityClass with name gone was found"
    found = applied(zones("a"), web(1, pod={"priorityClassName": "gone"}), replays=1)
    assert (found.completes, found.workloads[0].message) == (False, line)
    (row,) = simulate(cluster(*zones("a"), web(1, pod={"priorityClassName": "gone"}))).pending
    assert row.message == line


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ('pods "web-r1-x" is forbidden: not now', "not created: forbidden: not now"),
        (
            'admission webhook "w" denied the request: no',
            'not created: admission webhook "w" denied the request: no',
        ),
        ('pods "web-r1-x" is forbidden: exceeded quota: q', ""),
    ],
)
def test_what_a_replica_set_was_told_is_evidence(message: str, line: str) -> None:
    """Of its own next pods, not of those of another revision; what quotas leave is counted here."""
    owner = scaled("Deployment", "web", 2)
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    below = revision(owner) | {"status": {"conditions": [condition]}}
    there = [node("n1"), owner, below, replica(below, "web-r1-a", "n1")]
    assert [row.message for row in simulate(cluster(*there)).pending] == ([line] if line else [])
    other = scaled("Deployment", "web", 2, cpu="1")
    del other["metadata"]["uid"]
    assert applied(there, other, replays=1).completes


def test_a_stateful_set_that_lacks_a_pod_by_its_quota_updates_none() -> None:
    """What went wrong: with Parallel a pod was replaced although the one that is missing is refused."""
    before = web(3, kind="StatefulSet", podManagementPolicy="Parallel")
    there = running(before, ["a1", "b1", "a2"], *zones("ab"), node("a2", zone="a"))
    lacking = [item for item in there if item["metadata"]["name"] != "web-1"]
    after = web(3, kind="StatefulSet", podManagementPolicy="Parallel", cpu="150m")
    found = applied([*lacking, rules("ResourceQuota", hard={"pods": "2"})], after).workloads[0]
    assert (found.completes, found.least_ready, found.least_ready_best) == (False, 2, 2)
    assert "exceeded quota: q" in found.message


def test_what_else_a_quota_refuses_may_take_what_a_rollout_frees() -> None:
    """What went wrong: it completed in all runs, and stood still on a cluster: pods of others were made."""
    calm: Object = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
    full = [*running(web(2, **calm), ["a1", "b1"], *zones("ab")), rules("ResourceQuota", hard={"pods": "2"})]
    late = "Deployment/web of shop is slow: what a quota refuses on the way is tried again up to 1000 s later"
    alone = applied(full, web(2, cpu="150m", **calm))
    assert (alone.completes, alone.notes) == (True, (late,))
    found = applied([*full, scaled("Deployment", "other", 2, namespace="shop")], web(2, cpu="150m", **calm))
    assert 0 < found.replays.completed < found.replays.runs
    assert found.notes == (late, "2 pods that quotas refuse now may take the room of pods that go")
