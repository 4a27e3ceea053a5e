"""Clusters in which a workload runs, and the manifests that change it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from models import Cluster
from planner import rollout
from planner.documents.rollout import Rollout
from tests import builders
from tests.builders import Object, node, reference, replica, spread

CREATED = "2026-01-01T00:00:00Z"


def web(replicas: int, *, cpu: str = "100m", kind: str = "Deployment", **spec: Any) -> Object:
    """A workload `web` in namespace shop, spread over zones unless `constraints` say otherwise."""
    constraints = spec.pop("constraints", [spread(app="web")])
    pod = {
        "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
        "topologySpreadConstraints": constraints,
        **spec.pop("pod", {}),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            **({} if kind == "DaemonSet" else {"replicas": replicas}),
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
            **spec,
        },
    }


def daemons(cpu: str, **rolling: Any) -> Object:
    """A DaemonSet `web`."""
    return web(0, cpu=cpu, kind="DaemonSet", constraints=[], updateStrategy={"rollingUpdate": rolling})


def running(item: Object, places: Sequence[str], *nodes: Object) -> list[Object]:
    """The workload with a ready pod on each of these nodes, all of one revision."""
    item = json.loads(json.dumps(item))
    item["metadata"] |= {"uid": "owner", "creationTimestamp": CREATED}
    deployed = item["kind"] == "Deployment"
    owner = _replica_set(item, len(places)) if deployed else item
    pods = [_pod(owner, number, place) for number, place in enumerate(places)]
    return [*nodes, item, *([owner] if deployed else []), *pods]


def _replica_set(item: Object, replicas: int) -> Object:
    hashed = {"app": "web", "pod-template-hash": "old"}
    template = {**item["spec"]["template"], "metadata": {"labels": hashed}}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-old",
            "namespace": "shop",
            "uid": "set",
            "labels": hashed,
            "ownerReferences": [reference(item)],
        },
        "spec": {"replicas": replicas, "selector": {"matchLabels": hashed}, "template": template},
    }


def _pod(owner: Object, number: int, place: str) -> Object:
    words: Object = {"uid": f"00000000-0000-0000-0000-{number:012}", "created": CREATED}
    ready = [{"type": "Ready", "status": "True"}]
    return replica(owner, f"{owner['metadata']['name']}-{number}", place, conditions=ready, **words)


def zones(names: str, *, cpu: str = "4") -> list[Object]:
    """A node for each letter, in the zone of that letter: `aab` is a1, a2 and b1."""
    named = [(zone, names[: place + 1].count(zone)) for place, zone in enumerate(names)]
    return [node(f"{zone}{number}", zone=zone, cpu=cpu) for zone, number in named]


def manifests(*items: Object) -> Cluster:
    """What is to be applied."""
    return Cluster.from_objects(items, partial=True)


def applied(objects: list[Object], *items: Object, replays: int = 20) -> Rollout:
    """What applying the manifests to these objects leads to."""
    return rollout(Cluster.from_objects(objects), manifests(*items), replays=replays)


def budget(**spec: Any) -> Object:
    """A PodDisruptionBudget over `web`, without a status: `maxUnavailable=1`."""
    return builders.budget("web", "web", namespace="shop", **spec)
