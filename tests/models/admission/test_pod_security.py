"""Pod Security in the API server's words, which were recorded on a control plane 1.36.2."""

from typing import Any

import pytest

from models import Cluster
from tests.models.admission.test_admission import Object, new_pod

SECURE: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def container(name: str = "c", **context: Any) -> Object:
    """A container that is secure but for this."""
    return {"name": name, "securityContext": {**SECURE, **context}}


def refusal(level: str, pod: Object, *others: Object) -> str:
    """Why the pod is not admitted to a namespace that enforces the level."""
    labels = {"pod-security.kubernetes.io/enforce": level}
    namespace = {"kind": "Namespace", "metadata": {"name": "default", "labels": labels}}
    node = {"kind": "Node", "metadata": {"name": "n1"}}
    *_, found = Cluster.from_objects([node, namespace, *others, pod]).pods
    return found.refusal


@pytest.mark.parametrize(
    ("level", "pod", "words"),
    [
        ("restricted", new_pod(containers=[container()]), ""),
        (
            "restricted",
            new_pod(),
            'allowPrivilegeEscalation != false (container "c" must set '
            "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
            '"c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container '
            '"c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set '
            'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
        ),
        (
            "restricted",
            new_pod(containers=[container("a", runAsUser=0), container("b", runAsUser=0)]),
            'runAsUser=0 (containers "a", "b" must not set runAsUser=0)',
        ),
        (
            "restricted",
            new_pod(hostPID=True, containers=[container()], securityContext={"runAsNonRoot": False}),
            "host namespaces (hostPID=true), runAsNonRoot != true (pod must not set "
            "securityContext.runAsNonRoot=false)",
        ),
        ("baseline", new_pod(), ""),
        ("privileged", new_pod(hostPID=True), ""),
        (
            "baseline",
            new_pod(
                containers=[
                    {
                        "name": "c",
                        "securityContext": {"privileged": True},
                        "ports": [{"containerPort": 1, "hostPort": 1}],
                    }
                ],
                volumes=[{"name": "v", "hostPath": {"path": "/"}}],
            ),
            'hostPath volumes (volume "v"), hostPort (container "c" uses hostPort 1), privileged (container '
            '"c" must not set securityContext.privileged=true)',
        ),
    ],
)
def test_what_a_level_has_against_a_pod(level: str, pod: Object, words: str) -> None:
    """All at once, with the containers that it is about."""
    line = f'forbidden: violates PodSecurity "{level}:latest": {words}' if words else ""
    assert refusal(level, pod) == line


def test_what_makes_pods_secure_shows_in_those_that_run() -> None:
    """The template of one that runs is not secure and the pod is: a webhook is at work in the namespace."""
    owner: Object = {"kind": "ReplicaSet", "metadata": {"name": "web", "uid": "u"}}
    owner["spec"] = {"replicas": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}
    running = new_pod(containers=[container()], nodeName="n1")
    named = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
    running["metadata"] |= {
        "name": "web-x",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [named],
    }
    assert refusal("restricted", new_pod(), owner)
    assert not refusal("restricted", new_pod(), owner, running)


def test_an_empty_context_says_nothing() -> None:
    """The API server writes one into every pod: a template with it is the one without."""
    node = {"kind": "Node", "metadata": {"name": "n1"}}
    without, empty = new_pod(), new_pod(securityContext={})
    empty["metadata"]["name"] = "q"
    first, second = Cluster.from_objects([node, without, empty]).pods
    assert first.spec == second.spec
