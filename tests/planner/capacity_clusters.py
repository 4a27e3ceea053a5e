"""Small clusters of workloads for `planner capacity`, drawn at random: a ReplicaSet behind every owner."""

from __future__ import annotations

import copy
from collections import defaultdict
from random import Random
from typing import Any

from tests.builders import Object
from tests.tiny import tiny


def workloads(number: int) -> list[Object]:
    """A tiny cluster with a ReplicaSet behind every owner, which asks for a replica or two more at times."""
    objects, draw = tiny(number), Random(number)
    pods: dict[str, list[Object]] = defaultdict(list)
    for item in objects:
        for owner in item["metadata"].get("ownerReferences", ()) if item["kind"] == "Pod" else ():
            pods[owner["name"]].append(item)
    # Without a time of its own a pod that waits comes in the order of the files, as replicas to come do.
    return [*objects, *(_replica_set(name, found, draw) for name, found in pods.items())]


def _replica_set(name: str, pods: list[Object], draw: Random) -> Object:
    template = copy.deepcopy(pods[0])
    spec = {key: value for key, value in template["spec"].items() if key != "nodeName"}
    live = sum("deletionTimestamp" not in pod["metadata"] for pod in pods)
    labels: dict[str, Any] = {**template["metadata"].get("labels", {}), "set": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": pods[0]["metadata"]["ownerReferences"][0]["uid"],
        },
        "spec": {
            "replicas": live + draw.choice((0, 0, 0, 1, 2)),
            "selector": {"matchLabels": {"set": name}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
