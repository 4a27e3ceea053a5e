"""`planner capacity` of every workload of a snapshot, in seconds and MiB.

By hand: `python benchmarks/capacity.py --nodes 5000 --pods 50000 --workloads 500`.
"""

import argparse
import resource
import time
from collections.abc import Mapping
from typing import Any

from batches import BatchSize, objects

from models import Cluster
from planner import capacity, solve

#: A pod of a template is missing where the number of its place ends so: a seventh of all.
_MISSING = 7


def main() -> None:
    """One line: how long, how much memory, and how many more replicas there are room for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--workloads", type=int, default=500)
    options = parser.parse_args()
    cluster = running(BatchSize(options.nodes, options.pods, options.workloads))
    began = time.perf_counter()
    found = capacity(cluster)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    more = sum(row.more for row in found.workloads)
    print(f"{len(found.workloads)} workloads: {seconds:.1f} s, {peak:,.0f} MiB, {more:,} more replicas")


def running(size: BatchSize) -> Cluster:
    """The pods of a batch where `solve` puts them, each kind of a ReplicaSet that lacks some."""
    batch = objects(size, 0.9, lived_in=False)
    nodes = {step.pod: step.node for step in solve(Cluster.from_objects(batch)).steps}
    return Cluster.from_objects(bound(batch, nodes))


def bound(batch: list[dict[str, Any]], nodes: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """The pods of a batch on these nodes, but for a part of them, each kind of a ReplicaSet."""
    sets: dict[tuple[str, str], dict[str, Any]] = {}
    found = [item for item in batch if item["kind"] != "Pod"]
    for number, pod in enumerate(item for item in batch if item["kind"] == "Pod"):
        metadata = pod["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        name = metadata["name"].rpartition("-")[0]
        owner = sets.setdefault((metadata["namespace"], name), _replica_set(name, pod))
        if number % _MISSING and nodes.get(key):
            metadata["ownerReferences"] = [
                {"kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
            ]
            found.append(
                {**pod, "spec": {**pod["spec"], "nodeName": nodes[key]}, "status": {"phase": "Running"}}
            )
            owner["spec"]["replicas"] += 1
    return [*found, *sets.values()]


def _replica_set(name: str, pod: dict[str, Any]) -> dict[str, Any]:
    labels = pod["metadata"].get("labels", {})
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": pod["metadata"]["namespace"], "uid": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {**pod["spec"]}},
        },
    }


if __name__ == "__main__":
    main()
