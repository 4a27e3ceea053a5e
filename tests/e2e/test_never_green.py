"""Applies that come to nothing on a real control plane are no good news from `rollout` either."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest

from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.manifests import node, pod_spec, workload
from tests.e2e.test_admission import at_rest, create_quota, quota, refusal, told
from tests.e2e.test_server_dry_run import at_work, policy


def numbered(replicas: int, cpu: str = "100m", **spec: Any) -> Manifest:
    """The StatefulSet web, each replica with a claim of 1Gi."""
    found = workload("web", replicas, kind="StatefulSet", cpu=cpu)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    found["spec"] |= {
        "serviceName": "web",
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    return found | {"spec": found["spec"] | spec}


def job(cpu: str) -> Manifest:
    """A Job of one pod."""
    template = {"spec": {**pod_spec(cpu), "restartPolicy": "Never"}}
    metadata = {"name": "web", "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


def indexed(**spec: Any) -> Manifest:
    """A Job whose pods have an index."""
    item = job("100m")
    item["spec"] |= {"completionMode": "Indexed", "completions": 1, **spec}
    return item


def storage_class() -> Manifest:
    """The default class; it waits for pods, and nothing provisions its volumes."""
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "std", "annotations": marked},
        "provisioner": "example.com/none",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def failed_create(live: ControlPlane) -> str:
    """The words of the event that says why no pod of the StatefulSet web is made."""

    def event() -> str | None:
        found = [item["message"] for item in live.get("events") if item["reason"] == "FailedCreate"]
        found = [message for message in found if "Create Claim" in message]
        return found[0] if found else None

    return wait_for("event", event)


@pytest.mark.parametrize(
    "rule",
    [
        quota(persistentvolumeclaims="1"),
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "l", "namespace": "default"},
            "spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "500Mi"}}]},
        },
    ],
)
def test_a_claim_that_is_refused_keeps_its_pod_from_being_made(live: ControlPlane, rule: Manifest) -> None:
    """By a quota over claims, or a bound for them: the line is that of the controller's event."""
    live.create(node("n1"), storage_class())
    create_quota(live, rule)
    web = numbered(2, podManagementPolicy="Parallel")
    code, found = told(live, "rollout", "-f", "-", given=web)
    live.create(web)
    message = found["workloads"][0]["message"].removeprefix("not created: forbidden: ")
    assert code == 1
    assert message in failed_create(live)


REFUSED: Sequence[tuple[Manifest, Manifest, str]] = [
    (
        numbered(1),
        numbered(1, podManagementPolicy="Parallel"),
        "updates to statefulset spec for fields other",
    ),
    (job("100m"), job("200m"), "field is immutable"),
    (
        workload("web", 1),
        workload("web", 1, kind="Deployment") | {"spec": {**workload("web", 1)["spec"], "strategy": {}}},
        "may not be 0 when `maxSurge` is 0",
    ),
    (workload("web", 1), workload("web", 1), "field is immutable"),
    (indexed(), indexed(backoffLimitPerIndex=1), "spec.backoffLimitPerIndex: Invalid value: "),
    (indexed(), indexed(managedBy="example.com/queue"), "spec.managedBy: Invalid value: "),
]
REFUSED[2][1]["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}
REFUSED[3][1]["spec"]["selector"] = {"matchLabels": {"tier": "x"}}
REFUSED[3][1]["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "x"}


@pytest.mark.parametrize(("before", "after", "words"), REFUSED)
def test_what_the_api_server_refuses_to_apply_is_no_rollout(
    live: ControlPlane, before: Manifest, after: Manifest, words: str
) -> None:
    """In its words, and what runs is applied as it is without them."""
    live.create(node("n1"), before)
    for manifest, refused in ((before, False), (after, True)):
        given = json.dumps(manifest)
        ended = live.run(*live.command("rollout", "-f", "-"), given=given)
        applied = live.run("kubectl", "apply", "--dry-run=server", "-f", "-", given=given)
        assert (ended.returncode == 2, applied.returncode == 1) == (refused, refused)
        said = " ".join(ended.stderr.split())
        assert (words in said, words in applied.stderr) == (refused, refused)


@pytest.mark.parametrize("more", [{}, {"rollingUpdate": None}])
def test_a_stateful_set_turns_to_on_delete(live: ControlPlane, more: Manifest) -> None:
    """The API server fills in rollingUpdate, kubectl leaves that, and it is refused: a note says so."""
    live.create(node("n1"))
    item = workload("db", 1, kind="StatefulSet")
    live.kubectl("apply", "-f", "-", given=json.dumps(item))
    item["spec"]["updateStrategy"] = {"type": "OnDelete", **more}
    _, found = told(live, "rollout", "-f", "-", given=item)
    applied = live.run("kubectl", "apply", "-f", "-", given=json.dumps(item))
    noted = any("refuses beside OnDelete" in note for note in found["notes"])
    assert (noted, applied.returncode) == ((False, 0) if more else (True, 1))


def test_nothing_comes_to_a_namespace_that_is_going(live: ControlPlane) -> None:
    """It stays for a finalizer; what is applied to it is refused."""
    old = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}}
    held = {"name": "c", "namespace": "old", "finalizers": ["example.com/keep"]}
    live.create(node("n1"), old, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": held})
    live.kubectl("delete", "namespace", "old", "--wait=false")
    web = workload("web", 1)
    web["metadata"]["namespace"] = "old"
    code, found = told(live, "rollout", "-f", "-", given=web)
    applied = live.run("kubectl", "apply", "-f", "-", given=json.dumps(web))
    line = "forbidden: unable to create new content in namespace old because it is being terminated"
    assert (code, found["workloads"][0]["message"]) == (1, f"not created: {line}")
    assert line in applied.stderr


def test_a_new_deployment_that_is_paused_makes_no_pods(live: ControlPlane) -> None:
    """Nor does a changed template of one that runs, which is a note."""
    live.create(node("n1"))
    web = workload("web", 2)
    web["spec"]["paused"] = True
    code, found = told(live, "rollout", "-f", "-", given=web)
    assert (code, found["completes"]) == (1, False)
    live.create(web)
    assert at_rest(live) == []
    going = deepcopy(web)
    going["spec"]["paused"] = False
    live.kubectl("apply", "-f", "-", given=json.dumps(going))
    live.at_rest(2)
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    code, found = told(live, "rollout", "--restart", "-f", "-", given=web)
    assert code == 0
    note = "Deployment default/web is paused: it is only scaled, and no template is rolled out"
    assert note in found["notes"]


def test_what_a_replica_set_was_told_counts(live: ControlPlane) -> None:
    """A policy refuses the third pod: that is seen in no pod, and the ReplicaSet has the words."""
    live.create(node("n1"), workload("web", 2))
    live.at_rest(2)
    rules = [{"expression": "object.metadata.name == 'probe' && false", "message": "not now"}]
    live.create(*policy("ValidatingAdmissionPolicy", validations=rules))
    at_work(live, lambda ended: "not now" in ended.stderr)
    live.kubectl("scale", "deployment/web", "--replicas=3")
    line = refusal(live)
    code, found = told(live, "simulate")
    assert (code, found["pending"][0]["message"]) == (1, f"not created: {line}")
    live.kubectl("delete", "validatingadmissionpolicy", "p")
    live.kubectl("delete", "replicasets", "--all")
    assert len([pod for pod in live.at_rest(3) if is_ready(pod)]) == 3
    assert told(live, "simulate")[0] == 0


def test_an_account_is_not_missed_where_nothing_asks_for_it(live: ControlPlane) -> None:
    """This API server runs without that plugin, as its pods show: they have no account."""
    live.create(node("n1"), workload("old", 1))
    live.at_rest(1)
    web = workload("web", 1)
    web["spec"]["template"]["spec"]["serviceAccountName"] = "robot"
    assert told(live, "rollout", "-f", "-", given=web)[0] == 0
    live.create(web)
    live.at_rest(2)
