"""Seconds for `explain` on a large cluster with one pod pending, by what keeps it there.

By hand: `python benchmarks/explaining.py --nodes 5000 --pods 50000`. The snapshot is written to a file
and read again, as a user's would be; reading is not counted, compiling and simulating are.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from shapes import HOSTNAME, ZONE, Manifest, node, node_name, pod, required_pod_term, spread

from models import Cluster
from planner import explain
from planner.documents.explanation import Explanation
from planner.explain.at_rest import AtRest
from planner.problem.problem import Problem

TEMPLATES = 500
ZONES = 3


def running(nodes: int, pods: int) -> Iterator[Manifest]:
    """A cluster in use: replicas of many workloads, half spread over zones, half over hosts."""
    yield from (node(index, f"zone-{index % ZONES}") for index in range(nodes))
    for index in range(pods):
        number = index * TEMPLATES // pods
        app = {"app": f"app-{number}"}
        key, skew = (ZONE, 1) if number % 2 else (HOSTNAME, 5)
        found = pod(
            f"pod-{index:06d}",
            labels=app,
            cpu=f"{100 + 10 * (number % 20)}m",
            topologySpreadConstraints=spread(key, skew, "DoNotSchedule", app),
            nodeName=node_name(index % nodes),
        )
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"rs-{number}", "uid": f"u{number}"}
        found["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        yield found


def pending() -> dict[str, Manifest]:
    """One pod for each kind of trouble."""
    app = {"app": "app-1"}
    return {
        "no room": pod("pending", cpu="3950m"),
        "larger than any node": pod("pending", cpu="64"),
        "zone spread and no room": pod(
            "pending",
            labels=app,
            cpu="3950m",
            topologySpreadConstraints=spread(ZONE, 1, "DoNotSchedule", app),
        ),
        "nodeSelector": pod("pending", nodeSelector={"disk": "ssd"}),
        "affinity to nobody": pod(
            "pending", affinity=required_pod_term("podAffinity", ZONE, {"app": "none"})
        ),
        "minDomains": pod(
            "pending",
            labels=app,
            topologySpreadConstraints=spread(ZONE, 1, "DoNotSchedule", app, minDomains=9),
        ),
    }


def measured(objects: list[Manifest], folder: Path) -> tuple[float, float, Explanation]:
    """The time for simulating alone and for explaining, which simulates first, and what it says."""
    path = folder / "snapshot.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    cluster = Cluster.load(path)
    start = time.perf_counter()
    AtRest(Problem(cluster), preemption=True)
    simulated = time.perf_counter()
    (found,) = explain(cluster).items
    return simulated - start, time.perf_counter() - simulated, found


def main() -> None:
    """Print a row for each kind of trouble."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    options = parser.parse_args()
    objects = list(running(options.nodes, options.pods))
    print("| pending for | simulate s | explain s | fixes | tried |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for trouble, manifest in pending().items():
            simulated, seconds, found = measured([*objects, manifest], Path(folder))
            print(
                f"| {trouble} | {simulated:.2f} | {seconds:.2f} | {len(found.fixes)} | {found.tried} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
