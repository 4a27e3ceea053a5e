"""One measurement of `planner.solve` in a process of its own: read a snapshot, solve it, then schedule it.

Prints one JSON object. The other benchmarks start it, so that the clock sees ortools being
imported and the peak memory is that of reading and solving alone; by hand:
`python benchmarks/measure_solve.py snapshot.json --time-limit 30`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from measure import peak_mib, timed
from shapes import Manifest, listing

from models import Cluster
from planner.batch.solve import solve
from planner.documents.plan import PODS_PLACED, PlacementPlan
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler

SOFT_SPREAD = "softSpreadExcess"


@dataclass(frozen=True, slots=True)
class SolveMeasurement:
    """What the child process prints; times in seconds."""

    nodes: int
    pending: int
    templates: int
    build: float
    reference: float
    reference_placed: int
    first_plan: float
    wall: float
    placed: int
    bound: int
    proved: bool
    soft_spread: int | None
    soft_spread_bound: int | None
    peak_mib: int

    def cells(self) -> list[str]:
        """What a table prints of it, in the order of HEADS."""
        return [
            f"{self.nodes:,}",
            f"{self.pending:,}",
            f"{self.templates:,}",
            f"{self.build:.2f}",
            f"{self.reference:.2f}",
            f"{self.reference_placed:,}",
            f"{self.first_plan:.2f}",
            f"{self.wall:.2f}",
            f"{self.placed:,}",
            f"{self.bound:,}",
            "yes" if self.proved else "no",
            "-" if self.soft_spread is None else f"{self.soft_spread:,} / {self.soft_spread_bound:,}",
            f"{self.peak_mib:,}",
        ]


HEADS = (
    "nodes",
    "pods",
    "templates",
    "build s",
    "reference s",
    "reference placed",
    "first plan s",
    "wall s",
    "placed",
    "bound",
    "proved",
    "soft excess / bound",
    "peak MiB",
)


def measure_solve_apart(objects: Sequence[Manifest], time_limit: float, repeats: int = 1) -> SolveMeasurement:
    """The medians of as many fresh Python processes; proved only if it was in every one."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        snapshot = Path(folder) / "snapshot.json"
        snapshot.write_text(json.dumps(listing(objects)))
        command = [sys.executable, __file__, str(snapshot), "--time-limit", str(time_limit)]
        for _ in range(repeats):
            answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
            measured.append(SolveMeasurement(**json.loads(answer)))
    return medians(measured)


def medians(measured: Sequence[SolveMeasurement]) -> SolveMeasurement:
    """The low ones, so that each is a number that was seen."""
    middle: dict[str, Any] = {}
    for field in fields(SolveMeasurement):
        values = [getattr(one, field.name) for one in measured]
        middle[field.name] = None if None in values else statistics.median_low(values)
    return SolveMeasurement(**middle | {"proved": all(one.proved for one in measured)})


def measure_solve(snapshot: Path, time_limit: float) -> SolveMeasurement:
    """Solve once, and let the reference scheduler have a go at the same afterwards."""
    cluster = Cluster.load(str(snapshot))
    log = _Log()
    plan, wall = timed(lambda: solve(cluster, time_limit=time_limit, watch=log))
    peak = peak_mib()
    # Read again: the first one keeps what solve has worked out about it.
    again = Cluster.load(str(snapshot))
    problem, build = timed(lambda: Problem(again))
    decisions, reference = timed(lambda: list(Scheduler(problem, preemption=False).run()))
    reference_placed = sum(decision.node is not None for decision in decisions)
    pods = [stage for stage in plan.objective if stage.name.startswith(PODS_PLACED)]
    soft_spread, soft_spread_bound = _soft_spread(plan)
    return SolveMeasurement(
        nodes=len(cluster.nodes),
        pending=len(decisions),
        templates=len({int(problem.template_of[decision.pod]) for decision in decisions}),
        build=build,
        reference=reference,
        reference_placed=reference_placed,
        first_plan=log.when(min(reference_placed, len(plan.steps))),
        wall=wall,
        placed=len(plan.steps),
        bound=sum(stage.bound for stage in pods if stage.bound is not None),
        proved=all(stage.proved for stage in pods),
        soft_spread=soft_spread,
        soft_spread_bound=soft_spread_bound,
        peak_mib=peak,
    )


class _Log:
    """Watches a search: takes down when how many pods were placed."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._told: list[tuple[float, int]] = []

    def __call__(self, placed: int, bound: int) -> None:
        self._told.append((time.perf_counter() - self._start, placed))

    def when(self, pods: int) -> float:
        """The seconds until so many pods were placed."""
        return next(seconds for seconds, placed in self._told if placed >= pods)


def _soft_spread(plan: PlacementPlan) -> tuple[int | None, int | None]:
    """What the plan has and what any could have, where a ScheduleAnyway constraint is in the batch."""
    for stage in plan.objective:
        if stage.name == SOFT_SPREAD:
            return stage.value, stage.bound
    return None, None


def main() -> None:
    """Measure the file that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--time-limit", type=float, default=30.0)
    asked = parser.parse_args()
    print(json.dumps(asdict(measure_solve(asked.snapshot, asked.time_limit))))


if __name__ == "__main__":
    main()
