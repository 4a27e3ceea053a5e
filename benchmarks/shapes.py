"""Nodes and pods in the shapes that Kubernetes' own scheduler_perf benchmark uses."""

from collections.abc import Sequence
from typing import Any

Manifest = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
NAMESPACES = ["sched-0", "sched-1"]

CREATED = "2025-01-01T00:00:00Z"


def listing(items: Sequence[Manifest]) -> Manifest:
    """The objects as `kubectl get -o json` prints several."""
    return {"apiVersion": "v1", "kind": "List", "items": items}


def node_name(index: int) -> str:
    """`node-00042`: padded, so that the order of names is the order of numbers."""
    return f"node-{index:05d}"


def node(index: int, zone: str | None = None, taint: str | None = None) -> Manifest:
    """Four cores, 32 GiB, 110 pods."""
    name = node_name(index)
    room = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    labels = {HOSTNAME: name} | ({ZONE: zone} if zone else {})
    spec = {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    *,
    namespace: str = NAMESPACES[0],
    labels: dict[str, str] | None = None,
    cpu: str = "100m",
    memory: str = "500Mi",
    **spec: Any,
) -> Manifest:
    """One pause container; what a workload adds to the pod's spec comes as keywords."""
    requests = {"cpu": cpu, "memory": memory}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10.1",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": requests, "limits": requests},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels or {},
            "creationTimestamp": CREATED,
        },
        "spec": {"containers": [container], **spec},
    }


def service(name: str, selector: dict[str, str]) -> Manifest:
    """A Service that selects pods by label: what makes cluster-default constraints apply."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACES[0]},
        "spec": {"selector": selector, "ports": [{"port": 80}]},
    }


def spread(
    key: str, max_skew: int, when_unsatisfiable: str, labels: dict[str, str], **policies: Any
) -> list[Manifest]:
    """`topologySpreadConstraints` with one entry."""
    constraint = {
        "maxSkew": max_skew,
        "topologyKey": key,
        "whenUnsatisfiable": when_unsatisfiable,
        "labelSelector": {"matchLabels": labels},
        **policies,
    }
    return [constraint]


def required_pod_term(kind: str, key: str, labels: dict[str, str]) -> Manifest:
    """`affinity` with one required term; kind is podAffinity or podAntiAffinity."""
    term = _pod_term(key, labels)
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def preferred_pod_term(kind: str, key: str, labels: dict[str, str]) -> Manifest:
    """`affinity` with one preferred term of weight 1."""
    weighted = {"weight": 1, "podAffinityTerm": _pod_term(key, labels)}
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}


def _pod_term(key: str, labels: dict[str, str]) -> Manifest:
    return {
        "labelSelector": {"matchLabels": labels},
        "topologyKey": key,
        "namespaces": NAMESPACES,
    }


def required_node_values(key: str, values: list[str]) -> Manifest:
    """`affinity` that demands one of the values of a node label."""
    terms = {"nodeSelectorTerms": [_label_in(key, values)]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def preferred_node_values(key: str, values: list[str]) -> Manifest:
    """`affinity` that prefers, with weight 1, one of the values of a node label."""
    weighted = {"weight": 1, "preference": _label_in(key, values)}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}


def _label_in(key: str, values: list[str]) -> Manifest:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
