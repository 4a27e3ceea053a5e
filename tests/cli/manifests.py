"""Small objects as kubectl prints them, and files made of them."""

import json
from pathlib import Path
from typing import Any

from tests import builders
from tests.builders import Object, spread

__all__ = ["Object", "deployment", "listing", "lopsided", "node", "pod", "write"]


def node(name: str, zone: str = "", cpu: str = "4", taint: str = "") -> Object:
    """A node; the taint is a key with effect NoSchedule."""
    taints = [f"{taint}:NoSchedule"] if taint else []
    return builders.node(name, zone or None, cpu=cpu, memory="16Gi", taints=taints)


def pod(name: str, on: str = "", app: str = "web", namespace: str = "shop", **more: Any) -> Object:
    """A pod, bound to a node or pending; `spread` is what its constraint over zones does."""
    if "spread" in more:
        more["spread"] = [spread(app=app, when=more["spread"])]
    return builders.pod(name, on, app=app, namespace=namespace, **{"cpu": "100m", "memory": "64Mi", **more})


def deployment(name: str, replicas: int, namespace: str = "shop", cpu: str = "100m") -> Object:
    """A Deployment that is level over the zones."""
    words: Object = {"cpu": cpu, "memory": "64Mi", "spread": [spread(app=name)]}
    made = builders.scaled("Deployment", name, replicas, namespace=namespace, **words)
    del made["metadata"]["uid"]
    return made


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
