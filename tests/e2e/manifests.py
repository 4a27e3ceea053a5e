"""Manifests for a real API server, in one line each."""

from __future__ import annotations

from typing import Any

from tests import builders
from tests.e2e.control_plane import Manifest

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def node(
    name: str, *, zone: str = "a", cpu: str = "4", labels: dict[str, str] | None = None, **spec: Any
) -> Manifest:
    """A node that is ready from the start."""
    room = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ZONE: zone, HOSTNAME: name, **(labels or {})}},
        "spec": spec,
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def spread(app: str, key: str = ZONE, *, skew: int = 1, soft: bool = False) -> Manifest:
    """A topology spread constraint over the pods of an app."""
    return builders.spread(key, skew, app, when=builders.SOFT if soft else builders.HARD)


def pod_spec(cpu: str = "100m", **more: Any) -> Manifest:
    """The spec of a pod that asks for this much."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {"containers": [container], "terminationGracePeriodSeconds": 0, **more}


def pod(name: str, app: str = "", *, cpu: str = "100m", **more: Any) -> Manifest:
    """A bare pod."""
    labels = {"app": app} if app else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": pod_spec(cpu, **more),
    }


def workload(
    name: str,
    replicas: int,
    *constraints: Manifest,
    kind: str = "Deployment",
    cpu: str = "100m",
    annotations: dict[str, str] | None = None,
    **more: Any,
) -> Manifest:
    """A workload whose pods have the label `app`; annotations are those of the pods."""
    spec = pod_spec(cpu, topologySpreadConstraints=list(constraints), **more)
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": annotations or {}}, "spec": spec},
        },
    }


def budget(app: str, **spec: Any) -> Manifest:
    """A PodDisruptionBudget: `minAvailable=2` or `maxUnavailable="20%"`."""
    return builders.budget(app, app, **spec)
