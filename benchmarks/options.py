"""Options of the commands that search, on drawn clusters of hundreds of nodes: figures and bounds.

    python benchmarks/options.py [--only consolidate] [--nodes 300] [--seed 2] [--limit 30]

The other benchmarks watch commands without options.  An option that only limits must cost no more than its
limit: the lines of a command are to be read one beside the other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from batches import BatchSize, batch
from consolidate import PRICES
from consolidation_large import ZONES, objects
from rebalance import ZONE, Shape

from models import Cluster
from models.objects.selectors import LabelSelector
from planner import capacity, consolidate, rebalance, solve
from planner.consolidate.removable import NodeChoice
from planner.documents.plan import Objective


@dataclass(frozen=True, slots=True)
class Row:
    """A command with options, and what its document says of the figures that count."""

    text: str
    run: Callable[[], str]


def main() -> None:
    """A line for each; seconds are those of the processor."""
    options = _options()
    rows = {
        "consolidate": _consolidate,
        "rebalance": _rebalance,
        "solve": _solve,
        "capacity": _capacity,
    }
    for command in options.only or rows:
        for row in rows[command](options.nodes, options.seed, options.limit):
            began = time.process_time()
            figures = row.run()
            print(
                f"{command} {row.text}: {figures}; {time.process_time() - began:.1f} s of the processor",
                flush=True,
            )


def _consolidate(nodes: int, seed: int, limit: float) -> Iterator[Row]:
    cluster = Cluster.from_objects([*objects(nodes, 10 * nodes, nodes // 4, seed)])
    zone = NodeChoice(selector=LabelSelector(match_labels={ZONE: ZONES[0]}))
    few, more = nodes // 6, nodes * 2 // 3

    def row(text: str, **options: object) -> Row:
        def run() -> str:
            plan = consolidate(cluster, prices=PRICES, time_limit=limit, **options)  # type: ignore[arg-type]
            points = f", a curve of {len(plan.frontier)} points" if options.get("curve") else ""
            return (
                f"{_stages(plan.objective[:2], plan.price_unit)}, {len(plan.removed)} nodes go"
                f" in {len(plan.steps)} moves{points}"
            )

        return Row(text, run)

    yield row("--evict-only")
    yield row("--pin", pins=True)
    yield row(f"--pin --max-moves {few}", pins=True, max_moves=few)
    yield row(f"--pin --max-moves {more}", pins=True, max_moves=more)
    yield row(f"--pin --max-moves {more} --curve", pins=True, max_moves=more, curve=True)
    yield row("--pin --nodes (one zone)", pins=True, choice=zone)
    yield row("--pin --reserve 20%", pins=True, reserve=0.2)
    yield row("--pin --survive zone", pins=True, survive=ZONE)


def _rebalance(nodes: int, seed: int, limit: float) -> Iterator[Row]:
    cluster = Cluster.from_objects(Shape(nodes, 0.95, seed).objects())

    def row(text: str, **options: object) -> Row:
        def run() -> str:
            plan = rebalance(cluster, time_limit=limit, **options)  # type: ignore[arg-type]
            points = f", a curve of {len(plan.curve)} points" if options.get("curve") else ""
            pinned = sum(step.landing == "pinned" for step in plan.steps)
            return (
                f"was {plan.before.hard_excess}; {_stages(plan.objective[:2])}, {pinned} pinned,"
                f" soft {plan.before.soft_excess} to {plan.after.soft_excess}{points}"
            )

        return Row(text, run)

    yield row("(no option)")
    yield row("--evict-only", evict_only=True)
    yield row("--max-moves 20", max_moves=20)
    yield row("--curve", curve=True)
    yield row("--soft", soft=True)
    yield row("--soft --max-moves 40", soft=True, max_moves=40)


def _solve(nodes: int, seed: int, limit: float) -> Iterator[Row]:
    size = BatchSize(nodes, 10 * nodes, 100)
    for text, fill, used in (("half full", 0.5, False), ("90 % full, in use", 0.9, True)):
        cluster = batch(size, fill, used, seed)
        for prefer in ("spread", "pack", "stable"):

            def run(cluster: Cluster = cluster, prefer: str = prefer) -> str:
                return _stages(solve(cluster, prefer=prefer, time_limit=limit).objective)

            yield Row(f"--prefer {prefer}, {text}", run)


def _capacity(nodes: int, seed: int, limit: float) -> Iterator[Row]:
    cluster = Cluster.from_objects([*objects(nodes, 10 * nodes, nodes // 4, seed)])
    names = ["replicaset/app000", "replicaset/app001"]
    for text, key in (("", None), (" --survive zone", ZONE)):

        def run(key: str | None = key) -> str:
            found = capacity(cluster, names, best=True, survive=key, time_limit=limit)
            return ", ".join(
                f"{w.workload} {w.more} more, best {w.best} of at most {w.bound}" for w in found.workloads
            )

        yield Row(f"--best{text}", run)


def _stages(stages: tuple[Objective, ...], unit: float = 1.0) -> str:
    """`cost 75.3 (bound 72.4)`; the first stage counts in `unit`."""
    units = [unit] + [1.0] * len(stages)
    return ", ".join(
        f"{stage.name} {stage.value * each:g}"
        f" ({'no bound' if stage.bound is None else f'bound {stage.bound * each:g}'})"
        for stage, each in zip(stages, units, strict=False)
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", action="append", choices=["consolidate", "rebalance", "solve", "capacity"])
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for each; consolidate takes them")
    return parser.parse_args()


if __name__ == "__main__":
    main()
