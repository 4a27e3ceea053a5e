"""`planner consolidate` of a large cluster after a scale-down: seconds, MiB, and cost over its bound.

By hand: `python benchmarks/consolidation_large.py --nodes 5000 --pods 65000 --workloads 500`.  Five types of
machines in three zones, each workload of a ReplicaSet: a part is spread over zones or has one pod a node.
With pins; with `--evict-only` kube-scheduler chooses where replacements land.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from consolidate import PRICES

from models import Cluster
from planner import consolidate

ZONES = ("eu-1a", "eu-1b", "eu-1c")
#: What pods can use of each type: thousandths of a cpu, and MiB.
ROOM = {
    "m5.2xlarge": (7_800, 31_000),
    "m5.4xlarge": (15_800, 63_000),
    "c5.4xlarge": (15_800, 31_000),
    "r5.4xlarge": (15_800, 127_000),
    "m5.8xlarge": (31_800, 127_000),
}
_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Workload:
    """So many replicas of a size, perhaps spread over zones or with one pod a node."""

    name: str
    replicas: int
    cpu: int
    memory: int
    spread: bool
    apart: bool

    @property
    def spec(self) -> dict[str, Any]:
        """What every pod of it asks for."""
        selector = {"matchLabels": {"app": self.name}}
        requests = {"cpu": f"{self.cpu}m", "memory": f"{self.memory}Mi"}
        found: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
        if self.spread:
            words = {"maxSkew": 1, "topologyKey": _ZONE, "whenUnsatisfiable": "DoNotSchedule"}
            found["topologySpreadConstraints"] = [{**words, "labelSelector": selector}]
        if self.apart:
            term = {"topologyKey": _HOST, "labelSelector": selector}
            rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            found["affinity"] = {"podAntiAffinity": rule}
        return found


def workloads(pods: int, number: int, draw: random.Random, most_apart: int = 300) -> list[Workload]:
    """So many pods in so many workloads, few of them large; up to so many replicas may have one a node."""
    shares = [draw.paretovariate(1.3) for _ in range(number)]
    found = []
    for place, share in enumerate(shares):
        replicas = max(1, round(pods * share / sum(shares)))
        kind = draw.random()
        cpu = draw.choice([100, 250, 250, 500, 500, 750, 1000, 1500])
        memory = cpu * draw.choice([1, 2, 4]) + 100
        apart = 0.4 <= kind < 0.5 and replicas <= most_apart
        found.append(Workload(f"app{place:03}", replicas, cpu, memory, kind < 0.4, apart))
    return found


def objects(nodes: int, pods: int, number: int, seed: int) -> Iterator[dict[str, Any]]:
    """The cluster: pods lie where there was room, as long as the others were still there."""
    draw = random.Random(seed)
    free: list[list[int]] = []
    for place in range(nodes):
        kind = draw.choice([*ROOM])
        free.append([*ROOM[kind]])
        yield _node(f"n{place:05}", ZONES[place % len(ZONES)], kind)
    for workload in workloads(pods, number, draw, min(300, nodes // 2)):
        yield _replica_set(workload)
        on = set[int]()
        for replica in range(workload.replicas):
            node = _place(workload, replica % len(ZONES), free, on, draw)
            on.add(node)
            yield _pod(workload, replica, f"n{node:05}")


def _place(workload: Workload, zone: int, free: list[list[int]], on: set[int], draw: random.Random) -> int:
    """A node of a zone with room."""
    for _ in range(100_000):
        node = draw.randrange(len(free) // len(ZONES)) * len(ZONES) + zone
        cpu, memory = free[node]
        if cpu >= workload.cpu and memory >= workload.memory and not (workload.apart and node in on):
            free[node] = [cpu - workload.cpu, memory - workload.memory]
            return node
    raise SystemExit("the pods do not fit: fewer, or more nodes")


def _node(name: str, zone: str, kind: str) -> dict[str, Any]:
    cpu, memory = ROOM[kind]
    labels = {_ZONE: zone, _HOST: name, "node.kubernetes.io/instance-type": kind}
    room = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": room},
    }


def _replica_set(workload: Workload) -> dict[str, Any]:
    labels = {"app": workload.name}
    template = {"metadata": {"labels": labels}, "spec": workload.spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": workload.name, "namespace": "default", "uid": workload.name},
        "spec": {
            "replicas": workload.replicas,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }


def _pod(workload: Workload, number: int, node: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": workload.name, "uid": workload.name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{workload.name}-{number}",
            "namespace": "default",
            "labels": {"app": workload.name},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {**workload.spec, "nodeName": node},
        "status": {"phase": "Running"},
    }


def main() -> None:
    """One line: cost before, after and bound, moves and waves, how long and how much memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=65000)
    parser.add_argument("--workloads", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--evict-only", action="store_true")
    options = parser.parse_args()
    size = options.nodes, options.pods, options.workloads
    cluster = Cluster.from_objects([*objects(*size, options.seed)])
    began = time.perf_counter()
    plan = consolidate(cluster, prices=PRICES, pins=not options.evict_only, time_limit=options.limit)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cost, waves = plan.cost, max((step.wave for step in plan.steps), default=0)
    over = f"{cost.after / cost.bound - 1:.1%} over the bound {cost.bound:g}" if cost.bound else "no bound"
    print(
        f"cost {cost.before:g} -> {cost.after:g}, {over}; {len(plan.removed)} nodes go,"
        f" {len(plan.steps)} moves in {waves} waves; {seconds:.1f} s, {peak:,.0f} MiB"
    )
    print(*plan.notes, sep="\n")


if __name__ == "__main__":
    main()
