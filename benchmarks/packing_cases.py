"""Packings drawn like the recorded ones: alike nodes, replicas of random size, as full as asked for.

What kube-scheduler finds a node for is running; the rest is pending, and running pods may move.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from models import Cluster
from planner import simulate

NODES, PODS_PER_NODE = (4, 8, 16, 32), (4, 8)
PRIORITIES, USAGE = (1, 2, 4), (0.9, 0.95, 1.0)


def cases(seed: int) -> Iterator[dict[str, Any]]:
    """One of each size, number of priorities and usage, unless kube-scheduler places every pod."""
    for nodes, pods, priorities, usage in product(NODES, PODS_PER_NODE, PRIORITIES, USAGE):
        name = f"packing-{nodes}x{pods}-p{priorities}-u{usage}-s{seed}"
        draw = random.Random(name)
        replicas = list(_replicas(draw, nodes * pods, priorities))
        asked = sum(pod.cpu for pod in replicas), sum(pod.memory for pod in replicas)
        room = [math.ceil(amount / nodes / usage) for amount in asked]
        empty = Cluster.from_objects([*_nodes(nodes, room), *(_pod(pod, None) for pod in replicas)])
        node_of = {decision.pod: decision.node for decision in simulate(empty, preemption=False).decisions}
        pods_now = [_pod(pod, node_of[f"default/{pod.name}"]) for pod in replicas]
        placed = sum(node is not None for node in node_of.values())
        if placed < len(replicas):
            found = {"cluster": {"items": [*_nodes(nodes, room), *pods_now]}, "kubeSchedulerPlaced": placed}
            yield {"name": name, **found}


class _Replica(NamedTuple):
    """One pod of a ReplicaSet."""

    name: str
    owner: str
    cpu: int
    memory: int
    priority: int


def _replicas(draw: random.Random, pods: int, priorities: int) -> Iterator[_Replica]:
    """One to four alike, until there are enough."""
    number = left = 0
    cpu = memory = priority = 0
    for pod in range(pods):
        if not left:
            number, left = number + 1, draw.randint(1, 4)
            cpu, memory = draw.randint(100, 1000), draw.randint(100, 1000)
            priority = draw.randint(1, priorities)
        left -= 1
        yield _Replica(f"rs{number:03}-{pod:03}", f"rs{number:03}", cpu, memory, priority)


def _nodes(number: int, room: list[int]) -> list[dict[str, Any]]:
    has = {"cpu": f"{room[0]}m", "memory": f"{room[1]}M", "pods": "110"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{node:02}", "labels": {"kubernetes.io/hostname": f"n{node:02}"}},
            "status": {"allocatable": has, "capacity": has},
        }
        for node in range(number)
    ]


def _pod(replica: _Replica, node: str | None) -> dict[str, Any]:
    owner = replica.owner
    references = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
    ]
    wanted = {"requests": {"cpu": f"{replica.cpu}m", "memory": f"{replica.memory}M"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": replica.name,
            "namespace": "default",
            "uid": replica.name,
            "labels": {"app": owner},
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": references,
        },
        "spec": {
            "priority": replica.priority,
            "containers": [{"name": "c", "image": "img:v1", "resources": wanted}],
            **({"nodeName": node} if node else {}),
        },
        "status": {"phase": "Running" if node else "Pending"},
    }
