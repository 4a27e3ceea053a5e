"""Small objects as kubectl prints them, and files made of them."""

import json
from pathlib import Path
from typing import Any

Object = dict[str, Any]


def node(name: str, zone: str = "", cpu: str = "4", taint: str = "") -> Object:
    """A node; the taint is a key with effect NoSchedule."""
    labels = {"kubernetes.io/hostname": name}
    if zone:
        labels["topology.kubernetes.io/zone"] = zone
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {},
        "status": {"allocatable": {"cpu": cpu, "memory": "16Gi", "pods": "110"}},
    }


def pod(name: str, on: str = "", app: str = "web", namespace: str = "shop", **more: Any) -> Object:
    """A pod, bound to a node or pending; `cpu`, `priority`, `spread` (whenUnsatisfiable) go deeper."""
    spec: Object = {"containers": [_container(more.get("cpu", "100m"))]}
    if on:
        spec["nodeName"] = on
    if "priority" in more:
        spec["priority"] = more["priority"]
    if "spread" in more:
        spec["topologySpreadConstraints"] = [_over_zones(app, more["spread"])]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
        "spec": spec,
        "status": {"phase": "Running" if on else "Pending"},
    }


def deployment(name: str, replicas: int, namespace: str = "shop", cpu: str = "100m") -> Object:
    """A Deployment that is level over the zones."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "topologySpreadConstraints": [_over_zones(name, "DoNotSchedule")],
                    "containers": [_container(cpu)],
                },
            },
        },
    }


def write(path: Path, *objects: Object) -> str:
    """A List of these objects in a file; the file's name as an argument."""
    path.write_text(listing(*objects))
    return str(path)


def listing(*objects: Object) -> str:
    """A List of these objects as JSON text."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def lopsided() -> list[Object]:
    """Two zones, three pods in one of them and none in the other, though maxSkew is 1."""
    pods = [pod(f"web-{number}", on="a1", spread="DoNotSchedule") for number in range(3)]
    return [node("a1", "a"), node("b1", "b"), *pods]


def _container(cpu: str) -> Object:
    return {"name": "main", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}


def _over_zones(app: str, when: str) -> Object:
    return {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": app}},
    }
