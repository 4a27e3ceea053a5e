"""Options of the commands that search, on drawn clusters of hundreds of nodes: figures and bounds.

    python benchmarks/options.py [--only consolidate] [--nodes 300] [--seed 2] [--limit 30]

The other benchmarks watch commands without options.  An option that only limits must cost no more than its
limit: the lines of a command are to be read one beside the other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from batches import BatchSize, batch
from consolidate import PRICES
from consolidation_large import ZONES, objects
from rebalance import ZONE, Shape

from models import Cluster
from models.objects.base import OwnerReference
from models.objects.selectors import LabelSelector
from planner import capacity, consolidate, rebalance, simulate, solve
from planner.consolidate.removable import NodeChoice
from planner.documents.plan import Objective

Options = dict[str, Any]


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
    asked: dict[str, Options] = {
        "--pin": {},
        f"--pin --max-moves {few}": {"max_moves": few},
        f"--pin --max-moves {more}": {"max_moves": more},
        f"--pin --max-moves {more} --curve": {"max_moves": more, "curve": True},
        "--pin --nodes (one zone)": {"choice": zone},
        "--pin --reserve 20%": {"reserve": 0.2},
        "--pin --survive zone": {"survive": ZONE},
    }
    yield Row("--evict-only", partial(_consolidated, cluster, {"time_limit": limit}))
    for text, options in asked.items():
        yield Row(text, partial(_consolidated, cluster, {**options, "pins": True, "time_limit": limit}))


def _consolidated(cluster: Cluster, options: Options) -> str:
    plan = consolidate(cluster, prices=PRICES, **options)
    return (
        f"{_stages(plan.objective[:2], plan.price_unit)}, {len(plan.removed)} nodes go"
        f" in {len(plan.steps)} moves{_points(plan.frontier)}"
    )


def _rebalance(nodes: int, seed: int, limit: float) -> Iterator[Row]:
    cluster = Cluster.from_objects(Shape(nodes, 0.95, seed).objects())
    asked: dict[str, Options] = {
        "(no option)": {},
        "--evict-only": {"evict_only": True},
        "--max-moves 20": {"max_moves": 20},
        "--curve": {"curve": True},
        "--soft": {"soft": True},
        "--soft --max-moves 40": {"soft": True, "max_moves": 40},
    }
    for text, options in asked.items():
        yield Row(text, partial(_rebalanced, cluster, {**options, "time_limit": limit}))


def _rebalanced(cluster: Cluster, options: Options) -> str:
    plan = rebalance(cluster, **options)
    pinned = sum(step.landing == "pinned" for step in plan.steps)
    return (
        f"was {plan.before.hard_excess}; {_stages(plan.objective[:2])}, {pinned} pinned,"
        f" soft {plan.before.soft_excess} to {plan.after.soft_excess}{_points(plan.curve)}"
    )


def _solve(nodes: int, seed: int, limit: float) -> Iterator[Row]:
    size = BatchSize(nodes, 10 * nodes, 100)
    for text, fill, used in (("half full", 0.5, False), ("90 % full, in use", 0.9, True)):
        cluster = batch(size, fill, used, seed)
        for prefer in ("spread", "pack", "stable"):
            yield Row(f"--prefer {prefer}, {text}", partial(_solved, cluster, {"prefer": prefer}, limit))
    yield Row("--allow-moves", partial(_solved, scheduled(cluster), {"allow_moves": True}, limit))


def scheduled(cluster: Cluster) -> Cluster:
    """The cluster once kube-scheduler has done what it can, with a controller for every pod."""
    nodes = {decision.pod: decision.node for decision in simulate(cluster).decisions}
    pods = []
    for pod in cluster.pods:
        name = pod.metadata.labels.get("app", pod.name)
        owner = OwnerReference(kind="ReplicaSet", name=name, uid=name, controller=True)
        owned = pod.model_copy(
            update={"metadata": pod.metadata.model_copy(update={"owner_references": (owner,)})}
        )
        node = nodes.get(pod.key)
        pods.append(owned.on(node, running=True) if node else owned)
    return replace(cluster, pods=tuple(pods))


def _solved(cluster: Cluster, options: Options, limit: float) -> str:
    return _stages(solve(cluster, time_limit=limit, **options).objective)


def _capacity(nodes: int, seed: int, limit: float) -> Iterator[Row]:
    cluster = Cluster.from_objects([*objects(nodes, 10 * nodes, nodes // 4, seed)])
    for text, key in (("--best", None), ("--best --survive zone", ZONE)):
        yield Row(text, partial(_counted, cluster, key, limit))


def _counted(cluster: Cluster, key: str | None, limit: float) -> str:
    names = ["replicaset/app000", "replicaset/app001"]
    found = capacity(cluster, names, best=True, survive=key, time_limit=limit)
    return ", ".join(
        f"{w.workload} {w.more} more, best {w.best} of at most {w.bound}" for w in found.workloads
    )


def _points(curve: Sequence[object]) -> str:
    return f", a curve of {len(curve)} points" if curve else ""


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
