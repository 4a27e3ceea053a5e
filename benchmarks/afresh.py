"""`planner compare --afresh` on recorded clusters: no draw beats the optimum, all as in `simulate`.

By hand: `python benchmarks/afresh.py --most 100 tests/data/conformance/*.jsonl.gz`.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from models import Cluster
from planner import compare, simulate
from planner.documents.columns import ComparedColumn
from planner.problem.problem import Problem
from planner.whatif.pods import afresh


def main() -> None:
    """One line a cluster where something differs, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=100)
    options = parser.parse_args()
    clusters = pods = worse = other = 0
    for name, cluster in islice(_clusters(options.files), options.most):
        columns = compare(cluster, afresh=True, replays=5, time_limit=20).columns
        kube = [column for column in columns if column.name == "kubeScheduler"]
        best = columns[-1]
        beaten = [column.seed for column in kube if _worth(column) > _worth(best)]
        differing = [column.seed for column in kube if column.placed != _simulated(cluster, column.seed)]
        if beaten or differing:
            print(f"{name}: better than the optimum {beaten}, other than simulate {differing}")
        clusters, pods = clusters + 1, pods + best.pods
        worse, other = worse + bool(beaten), other + bool(differing)
    print(f"{clusters} clusters, {pods} pods: {worse} with a better draw, {other} other than simulate")


def _clusters(files: Sequence[Path]) -> Iterator[tuple[str, Cluster]]:
    for path in files:
        with gzip.open(path, "rt") as lines:
            for case in map(json.loads, lines):
                items = case["cluster"]["items"]
                yield f"{path.name} {case.get('name', '')}", Cluster.from_objects(items)


def _worth(column: ComparedColumn) -> list[int]:
    return [count.placed for count in column.by_priority]


def _simulated(cluster: Cluster, seed: int | None) -> int:
    """How many pods of the same queue `simulate` places."""
    queue = afresh(Problem(cluster))
    decisions = simulate(queue, preemption=False, seed=seed).decisions
    return sum(decision.node is not None for decision in decisions)


if __name__ == "__main__":
    main()
