"""Running pods that differ from their template: what was done to them is done to the next one."""

from typing import Any

import pytest

from models import Cluster
from models.objects.pod import PodSpec
from planner import rollout

Object = dict[str, Any]
TIME, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
HASHED = {"app": "web", "pod-template-hash": "abc"}


def deployment(replicas: int = 2, cpu: str = "100m", **spec: Any) -> Object:
    """A Deployment `web` of one container."""
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers, **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


def running(spec: Object, *objects: Object, replicas: int = 2, labels: Object | None = None) -> Cluster:
    """The Deployment with one pod that runs with this spec, of as many as it asks for."""
    node = {
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"}},
    }
    return Cluster.from_objects([node, *running_objects(spec, replicas, labels), *objects])


def running_objects(spec: Object, replicas: int = 2, labels: Object | None = None) -> list[Object]:
    """The Deployment, its ReplicaSet and the pod."""
    item = deployment(replicas)
    template = {**item["spec"]["template"], "metadata": {"labels": HASHED}}
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-abc",
            "labels": HASHED,
            "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}],
        },
        "spec": {"replicas": replicas, "selector": {"matchLabels": HASHED}, "template": template},
    }
    owner = {"kind": "ReplicaSet", "name": "web-abc", "controller": True}
    pod = {
        "kind": "Pod",
        "metadata": {
            "name": "web-abc-1",
            "labels": {**HASHED, **(labels or {})},
            "creationTimestamp": TIME,
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": "n1", **spec},
        "status": {"phase": "Running"},
    }
    return [item, replica_set, pod]


def container(name: str = "c", cpu: str = "100m") -> Object:
    """A container that asks for cpu."""
    return {"name": name, "resources": {"requests": {"cpu": cpu}}}


def mutating(**more: Any) -> Object:
    """A webhook that is asked about all new pods."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "w", "creationTimestamp": TIME},
        "webhooks": [{"name": "w.example.com", "rules": [rule], **more}],
    }


def made(cluster: Cluster) -> PodSpec:
    """The spec of the pod that lacks."""
    (found,) = [pod for pod in cluster.pods if not pod.node_name]
    return found.spec


def evidence(cluster: Cluster) -> list[str]:
    """The notes about mutated pods."""
    return [note for note in cluster.notes if "not as their template" in note]


CASES: list[tuple[Object, str]] = [
    ({"containers": [container(cpu="2")]}, "c requests 2 of cpu instead of 100m"),
    ({"containers": [{"name": "c"}]}, "c requests nothing of cpu instead of 100m"),
    (
        {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}}]},
        "the cpu limit of c is 1 instead of none",
    ),
    ({"containers": [container(), container("proxy", "50m")]}, "container proxy is added"),
    ({"containers": [container()], "nodeSelector": {"pool": "a"}}, "node selector pool=a"),
    (
        {"containers": [container()], "tolerations": [{"key": "gpu", "operator": "Exists"}]},
        "gpu is tolerated",
    ),
    ({"containers": [container()], "schedulerName": "mine"}, "scheduler mine"),
]


@pytest.mark.parametrize(("spec", "words"), CASES, ids=[words for _, words in CASES])
def test_the_next_pod_is_made_as_the_running_ones_are(spec: Object, words: str) -> None:
    """And a note says what differs."""
    found = running(spec)
    (note,) = evidence(found)
    assert note.startswith(f"pods of Deployment default/web are not as their template has them: {words};")
    new, old = made(found), found.pods[0].spec
    assert [(c.name, c.resources) for c in new.containers] == [(c.name, c.resources) for c in old.containers]
    assert new.node_selector == old.node_selector
    assert new.scheduler_name == old.scheduler_name
    assert set(old.tolerations) <= set(new.tolerations)


def test_pods_as_their_template_has_them_are_no_evidence() -> None:
    """Nor are the tolerations that every pod gets."""
    sick = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
    assert not evidence(running({"containers": [container()], "tolerations": sick}))


def test_what_is_known_to_be_added_is_no_evidence() -> None:
    """A LimitRange explains a request, and one that is newer than the pod says what the next one gets."""
    limits = {
        "kind": "LimitRange",
        "metadata": {"name": "l", "creationTimestamp": TIME},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "1Gi"}}]},
    }
    requests = {"cpu": "100m", "memory": "1Gi"}
    explained = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    assert not evidence(running(explained, limits))
    newer = {**limits, "metadata": {"name": "l", "creationTimestamp": LATER}}
    found = running({"containers": [container()]}, newer)
    assert not evidence(found)
    assert made(found).containers[0].resources.requests["memory"] == 2**30 * 10**9


def test_a_new_template_is_changed_in_the_same_way() -> None:
    """A rollout's pods get the container, too, and keep a request that the new template changes."""
    found = running({"containers": [container(cpu="3"), container("proxy")]}, replicas=1)
    for cpu, completes in (("100m", False), ("200m", True)):
        after = Cluster.from_objects([deployment(1, cpu, priorityClassName="")], partial=True)
        assert rollout(found, after, restart=True, replays=0).completes == completes


def test_labels_of_a_webhook_are_given_to_the_next_pod() -> None:
    """They were not: a constraint that selects them counted no pod that was still to come."""
    plain = {"containers": [container()]}
    found = running(plain, mutating(), labels={"team": "x"})
    (note,) = evidence(found)
    assert "label team=x is added; the next pod is made as they are" in note
    (new,) = [pod for pod in found.pods if not pod.node_name]
    assert new.metadata.labels["team"] == "x"


@pytest.mark.parametrize(
    "objects",
    [(), (mutating(objectSelector={"matchLabels": {"app": "db"}}),)],
    ids=["nothing changes pods", "no such pods"],
)
def test_labels_of_others_are_no_evidence(objects: tuple[Object, ...]) -> None:
    """Operators and people label running pods, too."""
    assert evidence(running({"containers": [container()]}, *objects, labels={"role": "master"})) == []


def test_labels_of_nodes_and_of_single_pods_are_no_evidence() -> None:
    """The API server copies zones of nodes to pods; what one pod has and another lacks says nothing."""
    plain = {"containers": [container()]}
    assert evidence(running(plain, mutating(), labels={"topology.kubernetes.io/zone": "a"})) == []
    owner = {"kind": "ReplicaSet", "name": "web-abc", "controller": True}
    metadata = {"name": "web-abc-2", "labels": HASHED, "creationTimestamp": TIME, "ownerReferences": [owner]}
    other = {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1", **plain}}
    assert evidence(running(plain, mutating(), other, replicas=3, labels={"team": "x"})) == []


def test_a_pod_that_a_limit_range_would_refuse_is_older_than_its_bounds() -> None:
    """What went wrong: a maximum that an older LimitRange got later was said to refuse the next pod.

    The pods were there before it, without a limit; their next one gets the maximum for its limit.
    """
    limits = {
        "kind": "LimitRange",
        "metadata": {"name": "l", "creationTimestamp": "2025-01-01T00:00:00Z"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]},
    }
    found = running({"containers": [container()]}, limits)
    assert not evidence(found)
    assert made(found).containers[0].resources.limits == {"cpu": 2 * 10**9}
    (new,) = [pod for pod in found.pods if not pod.node_name]
    assert not new.refusal


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (2, "Deployment n0/web and Deployment n1/web are not as their templates have them"),
        (5, "5 workloads (Deployment n0/web, Deployment n1/web, Deployment n2/web, ...) are not as their"),
    ],
)
def test_workloads_that_are_changed_alike_are_noted_together(number: int, words: str) -> None:
    """In a service mesh every workload had a note of its own, and the answer came after hundreds of lines."""
    spec = {"containers": [container(), container("proxy", "50m")]}
    objects = [
        {**item, "metadata": {**item["metadata"], "namespace": f"n{place}"}}
        for place in range(number)
        for item in running_objects(spec)
    ]
    (note,) = [note for note in Cluster.from_objects(objects).notes if "template" in note]
    assert note.startswith(f"pods of {words}")
