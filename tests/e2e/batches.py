"""Recorded batches as objects that a real API server takes, their pending pods held by a gate."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path
from typing import Any

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for

_DATA = Path(__file__).parents[1] / "data/batch"
CASES: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("stuck", "batch")
    for line in gzip.decompress((_DATA / f"{name}.jsonl.gz").read_bytes()).splitlines()
]
_GATE = {"name": "example.com/batch"}
#: What the API server sets itself, or what would have the garbage collector take the pod away.
_NOT_OURS = ("uid", "creationTimestamp", "ownerReferences")


def create_held(live: ControlPlane, case: dict[str, Any]) -> bool:
    """Make the cluster of a case; whether the API server took every pod and node of it."""
    items = case["cluster"]["items"]
    for item in items:
        if item["kind"] == "Namespace" and item["metadata"]["name"] != "default":
            live.create(item)
        if item["kind"] == "PriorityClass":
            live.create(item)
    nodes = [_node(item) for item in items if item["kind"] == "Node"]
    pods = [_held(item) for item in items if item["kind"] == "Pod"]
    listing = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}
    ended = live.run("kubectl", "create", "-f", "-", given=json.dumps(listing))
    if ended.returncode:
        return False
    running = sum("schedulingGates" not in item["spec"] for item in pods)
    wait_for("running pods", lambda: _running(live) == running)
    return True


def _running(live: ControlPlane) -> int:
    return sum(item["status"].get("phase") == "Running" for item in live.pods())


def _node(item: Manifest) -> Manifest:
    conditions = [{"type": "Ready", "status": "True"}]
    return {**item, "status": {**item["status"], "conditions": conditions}}


def _held(item: Manifest) -> Manifest:
    metadata = {key: value for key, value in item["metadata"].items() if key not in _NOT_OURS}
    spec = {key: value for key, value in item["spec"].items() if key != "priority"}
    spec["terminationGracePeriodSeconds"] = 0
    if not spec.get("nodeName"):
        spec["schedulingGates"] = [_GATE]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def placed_as_planned(live: ControlPlane, script: Path) -> int:
    """How many pods a script has let go; an AssertionError when one is not on its planned node."""
    text = (line for line in script.read_text().splitlines() if line.startswith("    open_gate "))
    rows = map(shlex.split, text)
    wanted = {f"{row[1]}/{row[2]}": row[4] for row in rows}
    found = {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["spec"].get("nodeName")
        for item in live.pods()
    }
    assert {name: found[name] for name in wanted} == wanted
    return len(wanted)
