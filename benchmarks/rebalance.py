"""Rebalancing large clusters after a scale-down: with room, 99 % full and 99.9 % full.

`python benchmarks/rebalance.py [--nodes N] [--fill F]...` prints a line for each: the wall time from
objects in memory to the checked plan, moves and their bound, what was and is too much, peak memory.
With `--balanced` nothing is lopsided: `check` and `rebalance` in turn, the median of three.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from models import Cluster
from planner import check, rebalance

Object = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_ZONES = 3
_SIZES_MILLI = (250, 500, 1000, 2000, 4000, 6000)
_REPLICAS = 100
_VIOLATED = 30
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"


class Shape:
    """A cluster in which some workloads lost their pods in one zone only, as a scale-down leaves it."""

    def __init__(self, nodes: int, fill: float, seed: int = 7, violated: int = _VIOLATED) -> None:
        self._draw = np.random.default_rng(seed)
        self._nodes = nodes
        self._violated = violated
        self._zone_of = np.arange(nodes) % _ZONES
        self._workloads = nodes // 10
        self._quotas = [self._quota(number) for number in range(self._workloads)]
        constraint = sum(self._size(number) * sum(quota) for number, quota in enumerate(self._quotas))
        self._capacity = int(constraint / nodes / fill)
        self._load = np.zeros(nodes, np.int64)

    def objects(self) -> list[Object]:
        """Its nodes and pods; pods that find no room any more are not there."""
        large_first = sorted(range(self._workloads), key=lambda number: -self._size(number))
        pods = [pod for number in large_first for pod in self._pods(number)]
        return [*(self._node(number) for number in range(self._nodes)), *pods]

    @staticmethod
    def _size(number: int) -> int:
        return _SIZES_MILLI[number * 7 % len(_SIZES_MILLI)]

    def _quota(self, number: int) -> list[int]:
        """The replicas in every zone; lopsided in the workloads that were scaled down."""
        quota = [_REPLICAS // _ZONES] * _ZONES
        step = max(2, self._workloads // _VIOLATED // 2 * 2)
        if number % step == 0 and number // step < self._violated:
            quota[int(self._draw.integers(_ZONES))] -= int(self._draw.integers(4, 16))
        return quota

    def _pods(self, number: int) -> list[Object]:
        """Each on a node of its zone drawn among those with room and the fewest of its kind."""
        size = self._size(number)
        made: list[Object] = []
        coupled = np.zeros(self._nodes, np.int64)
        for zone, replicas in enumerate(self._quotas[number]):
            for _ in range(replicas):
                fits = np.flatnonzero((self._zone_of == zone) & (self._load + size <= self._capacity))
                if fits.size:
                    node = int(self._draw.choice(fits[coupled[fits] == coupled[fits].min()]))
                    self._load[node] += size
                    coupled[node] += 1
                    made.append(_pod(number, len(made), f"n{node:05}", size))
        return made

    def _node(self, number: int) -> Object:
        name = f"n{number:05}"
        labels = {HOST: name, ZONE: f"zone-{self._zone_of[number]}"}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": f"{self._capacity}m", "memory": "256Gi", "pods": "110"}},
        }


def _pod(workload: int, number: int, node: str, cpu_milli: int) -> Object:
    app = {"app": f"w{workload:03}"}
    keys = [(ZONE, 1, _HARD)] if workload % 2 == 0 else [(ZONE, 1, _SOFT)] if workload % 5 == 0 else []
    keys += [(HOST, 2, _HARD)] if workload % 4 == 0 else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"w{workload:03}-{number:03}",
            "namespace": "prod",
            "labels": app,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"w{workload:03}", "controller": True}
            ],
        },
        "spec": {
            "nodeName": node,
            "containers": [
                {"name": "c", "resources": {"requests": {"cpu": f"{cpu_milli}m", "memory": "1Gi"}}}
            ],
            "topologySpreadConstraints": [
                {
                    "maxSkew": skew,
                    "topologyKey": key,
                    "whenUnsatisfiable": when,
                    "labelSelector": {"matchLabels": app},
                }
                for key, skew, when in keys
            ],
        },
        "status": {"phase": "Running"},
    }


def _seconds(command: Callable[[Cluster], object], cluster: Cluster) -> float:
    start = time.perf_counter()
    command(cluster)
    return time.perf_counter() - start


def _balanced(nodes: int) -> None:
    """What `check` and `rebalance` take where nothing has to move."""
    cluster = Cluster.from_objects(Shape(nodes, 0.8, violated=0).objects())
    taken = [(_seconds(check, cluster), _seconds(rebalance, cluster)) for _ in range(3)]
    checked, rebalanced = (statistics.median(times) for times in zip(*taken, strict=True))
    print(
        f"{nodes} nodes, {len(cluster.pods)} pods, balanced: check {checked:.1f} s, "
        f"rebalance {rebalanced:.1f} s"
    )


def main() -> None:
    """One line for every fill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--fill", type=float, action="append")
    parser.add_argument("--seed", type=int, default=7, help="another one is another cluster")
    parser.add_argument("--time-limit", type=float, default=50.0)
    parser.add_argument("--balanced", action="store_true")
    chosen = parser.parse_args()
    if chosen.balanced:
        _balanced(chosen.nodes)
        return
    for fill in chosen.fill or [0.8, 0.99, 0.999]:
        cluster = Cluster.from_objects(Shape(chosen.nodes, fill, chosen.seed).objects())
        start = time.perf_counter()
        plan = rebalance(cluster, time_limit=chosen.time_limit)
        wall = time.perf_counter() - start
        stages = ", ".join(f"{s.name} {s.value} (bound {s.bound})" for s in plan.objective[:2])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        waves = plan.steps[-1].wave if plan.steps else 0
        pinned = sum(step.landing == "pinned" for step in plan.steps)
        print(
            f"{len(cluster.nodes)} nodes, {len(cluster.pods)} pods, fill {fill:.1%}: {wall:.1f} s, "
            f"{plan.status}, was {plan.before.hard_excess} in {plan.before.hard_violations}, {stages}, "
            f"{waves} waves, {pinned} pinned, {peak} MiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
