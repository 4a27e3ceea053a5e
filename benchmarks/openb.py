"""`planner solve` on openb, the trace of Alibaba's GPU cluster: 1,523 nodes, 8,152 pods of 2023.

All pods of the trace are pending at once, more than the cluster holds. A pod that asks for a part
of a GPU gets a whole one; GPU models are node labels, and pods that name models demand them.
The trace (cluster-trace-gpu-v2023) is no part of this repository: `--data` says where it lies.
"""

import argparse
import csv
import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measure_solve import HEADS, measure_solve_apart
from pages import machine, table_head, table_line
from shapes import HOSTNAME, Manifest, required_node_values

DATA = Path(__file__).parents[2] / "shared" / "upstream" / "openb"
PODS = ("gpuspec33", "default")
GPU = "nvidia.com/gpu"
MODEL = "nvidia.com/gpu.product"
#: The trace counts seconds from its own beginning.
BEGINNING = datetime(2023, 1, 1, tzinfo=UTC)


def trace(data: Path, pods: str) -> list[Manifest]:
    """The nodes and pods of the trace as Kubernetes objects."""
    nodes = [_node(row) for row in _rows(data / "nodes.csv.gz")]
    return nodes + [_pod(row) for row in _rows(data / f"pods_{pods}.csv.gz")]


def _rows(table: Path) -> Iterator[dict[str, str]]:
    with gzip.open(table, "rt", newline="") as text:
        yield from csv.DictReader(text)


def _node(row: dict[str, str]) -> Manifest:
    room = _amounts(row["cpu_milli"], row["memory_mib"], row["gpu"]) | {"pods": "110"}
    labels = {HOSTNAME: row["sn"]} | ({MODEL: row["model"]} if row["model"] else {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "spec": {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _pod(row: dict[str, str]) -> Manifest:
    """The pod as it was when it came; `num_gpu` counts a part of a GPU as one."""
    created = BEGINNING + timedelta(seconds=int(row["creation_time"]))
    amounts = _amounts(row["cpu_milli"], row["memory_mib"], row["num_gpu"])
    container = {"name": "main", "image": "openb", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": row["name"],
            "namespace": "openb",
            "creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "spec": {"containers": [container], **_models(row["gpu_spec"])},
        "status": {"phase": "Pending"},
    }


def _amounts(cpu_milli: str, memory_mib: str, gpus: str) -> dict[str, str]:
    gpu = {GPU: gpus} if int(gpus) else {}
    return {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi", **gpu}


def _models(gpu_spec: str) -> Manifest:
    """One model as a nodeSelector, several as required node affinity."""
    models = sorted(set(gpu_spec.split("|"))) if gpu_spec else []
    match models:
        case []:
            return {}
        case [model]:
            return {"nodeSelector": {MODEL: model}}
        case _:
            return {"affinity": required_node_values(MODEL, models)}


def shapes_of(objects: list[Manifest]) -> int:
    """How many kinds of nodes there are, by what they offer and their GPU's model."""
    nodes = [item for item in objects if item["kind"] == "Node"]
    return len(
        {
            (*sorted(node["status"]["allocatable"].items()), node["metadata"]["labels"].get(MODEL))
            for node in nodes
        }
    )


def main() -> None:
    """Print a row for each list of pods: with GPU models named by a third of them, or by none."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder with the trace; default {DATA}")
    parser.add_argument("--pods", action="append", choices=PODS, help="which list of pods; default both")
    parser.add_argument("--time-limit", type=float, default=55.0)
    parser.add_argument("--repeats", type=int, default=1)
    asked = parser.parse_args()
    if not asked.data.is_dir():
        parser.error(f"no trace in {asked.data}: say --data")
    print(machine("ortools", "numpy", "pydantic") + "\n")
    print(*table_head(("pods of", "node shapes", *HEADS)), sep="\n", flush=True)
    for pods in asked.pods or PODS:
        objects = trace(asked.data, pods)
        measured = measure_solve_apart(objects, asked.time_limit, asked.repeats)
        print(table_line([pods, str(shapes_of(objects)), *measured.cells()]), flush=True)


if __name__ == "__main__":
    main()
