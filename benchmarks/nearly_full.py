"""`planner solve` on batches that nearly fill their nodes: how many pods are placed, and how evenly.

`python benchmarks/nearly_full.py [--nodes N ...] [--fill F ...] [--each K] [--seed S]` prints a line for
every batch: pods placed and pods too many under ScheduleAnyway, of kube-scheduler and of the plan, the
latter with its bounds; and the sums.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models import Cluster
from planner import solve
from planner.batch.goals import PlanShape, SpreadExcess, soft_goals
from planner.batch.incumbent import Incumbent
from planner.batch.pending import Pending
from planner.documents.plan import PODS_PLACED
from planner.problem.problem import Problem
from tests.planner.batch.nearly_full import nearly_full

_STAGES = (f"{PODS_PLACED}0", SpreadExcess.name)


def main() -> None:
    """A line for every batch, and the sums."""
    options = _options()
    total = Counter[str]()
    for nodes in options.nodes:
        for fill in options.fill:
            for seed in range(options.seed, options.seed + options.each):
                cluster = Cluster.from_objects(nearly_full(seed, nodes, fill))
                begun = time.perf_counter()
                plan = solve(cluster, time_limit=options.time_limit)
                seconds = time.perf_counter() - begun
                stages = {stage.name: stage for stage in plan.objective}
                pods, too_many = (stages[name] for name in _STAGES)
                usual = _usual(cluster)
                total += Counter(
                    {"scheduler's pods": usual[0], "scheduler's too many": usual[1], "pods": pods.value}
                )
                total += Counter({"too many": too_many.value, "seconds": round(seconds)})
                print(
                    f"{nodes} nodes {fill:.0%} seed {seed}: kube-scheduler {usual[0]} pods, "
                    f"{usual[1]} too many; plan {pods.value} of at most {pods.bound}, "
                    f"{too_many.value} too many, at least {too_many.bound}; {seconds:.1f} s",
                    flush=True,
                )
    print(", ".join(f"{name} {number}" for name, number in total.items()))


def _usual(cluster: Cluster) -> tuple[int, int]:
    """The pods that kube-scheduler places, and how many are too many then."""
    pending = Pending(Problem(cluster))
    template_of = pending.problem.template_of
    incumbent = Incumbent(pending, soft_goals(pending, PlanShape.SPREAD, Counter()), None)
    incumbent.offer(
        [(int(template_of[d.pod]), d.node) for d in pending.scheduler.run() if d.node is not None]
    )
    values = {stage.name: stage.value for stage in incumbent.stages()}
    return values[_STAGES[0]], values[_STAGES[1]]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[12, 24, 60, 120])
    parser.add_argument("--fill", type=float, nargs="+", default=[0.95, 0.98])
    parser.add_argument("--each", type=int, default=2, help="batches of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=30.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
