"""Whole consolidation plans of the given clusters: cost against greedy and bound, moves, time, and replays.

    python benchmarks/consolidate.py FOLDER KIND [--pin] [--catalogue] [--curve]
        [--limit SECONDS] [--replays N] [--only NAME]

FOLDER has KIND.jsonl.gz with a cluster a line, its `greedy` and its `bound`.  With --curve the frontier says
how many moves lead to greedy's cost.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models import Cluster
from planner import consolidate
from planner.consolidate.prices import INSTANCE_TYPE
from planner.consolidate.setting import with_added
from planner.documents.consolidation import ConsolidationPlan
from tests.planner.consolidate.replay import failure

PRICES = {
    "m5.2xlarge": 0.384,
    "m5.4xlarge": 0.768,
    "c5.4xlarge": 0.68,
    "r5.4xlarge": 1.008,
    "m5.8xlarge": 1.536,
}


def clusters(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The given clusters of a kind."""
    with gzip.open(folder / f"{kind}.jsonl.gz", "rt") as lines:
        yield from map(json.loads, lines)


def types(folder: Path) -> list[dict[str, str]]:
    """The machine types of the given clusters as a catalogue, with the label that pods select."""
    found: dict[str, dict[str, str]] = {}
    for case in clusters(folder, "small"):
        for item in case["cluster"]["items"]:
            if item["kind"] == "Node":
                name = item["metadata"]["labels"]["node.kubernetes.io/instance-type"]
                found[name] = {"name": name, "price": str(PRICES[name]), "pool": "ssd"}
                found[name] |= item["status"]["allocatable"]
    return [found[name] for name in sorted(found)]


def karpenter(folder: Path, *, replace: bool) -> dict[str, float]:
    """What Karpenter's consolidation reaches, by name: with replacement, or by deletions alone."""
    kind = "replace" if replace else "deleteOnly"
    rows = map(json.loads, (folder / "karpenter.jsonl").read_text().splitlines())
    return {row["name"]: row[kind]["cost"] for row in rows}


def main(words: Sequence[str] | None = None) -> None:
    """A line a cluster, and the sums."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("folder", type=Path)
    reader.add_argument("kind")
    reader.add_argument("--pin", action="store_true")
    reader.add_argument("--catalogue", action="store_true", help="the five machine types may be added")
    reader.add_argument("--curve", action="store_true", help="how many moves lead to greedy's cost")
    reader.add_argument("--limit", type=float, default=30.0)
    reader.add_argument("--replays", type=int, default=20)
    reader.add_argument("--only", default="")
    given = reader.parse_args(words)
    rows = []
    for case in clusters(given.folder, given.kind):
        if given.only not in case["name"]:
            continue
        found = Cluster.from_objects(case["cluster"]["items"])
        start, cpu = time.monotonic(), time.process_time()
        catalogue = types(given.folder) if given.catalogue else None
        plan = consolidate(
            found,
            prices=PRICES,
            catalogue=catalogue,
            pins=given.pin,
            curve=given.curve,
            time_limit=given.limit,
        )
        took, work = time.monotonic() - start, time.process_time() - cpu
        found = with_added(found, plan.added, catalogue or (), INSTANCE_TYPE)
        failed = sum(failure(found, plan, seed) is not None for seed in range(given.replays))
        rows.append((case, plan))
        other = karpenter(given.folder, replace=given.catalogue)[case["name"]]
        print(
            line(case, plan),
            f"Karpenter {other:.3f}, {len(plan.added)} added;",
            f"{took:.1f} s, cpu {work:.1f} s, {failed} replays failed",
            f"; {moves_to_greedy(case, plan)} moves to greedy's cost" if given.curve else "",
            flush=True,
        )
    if given.curve:
        print("moves to greedy's cost:", *moves_in_total(rows))
    every = karpenter(given.folder, replace=given.catalogue)
    theirs = [(plan.cost.after, every[case["name"]]) for case, plan in rows]
    above = sum(cost > other + 1e-9 for cost, other in theirs)
    print(total(rows), f"Karpenter {sum(other for _, other in theirs):.3f}, {above} above it", sep="\n")


def line(case: dict[str, Any], plan: ConsolidationPlan) -> str:
    """Costs, moves and waves of a plan."""
    greedy, waves = case["greedy"], max((step.wave for step in plan.steps), default=0)
    pins = sum(step.landing in {"pinned", "cordoned"} for step in plan.steps)
    return (
        f"{case['name']}: greedy {greedy['cost']:.3f}, plan {plan.cost.after:.3f}, bound {case['bound']:.3f}"
        f" (own {plan.cost.bound}); moves {greedy['moves']} -> {len(plan.steps)}, {pins} held, {waves} waves;"
    )


def moves_to_greedy(case: dict[str, Any], plan: ConsolidationPlan) -> int | None:
    """The fewest moves of a plan of the frontier that costs no more than greedy; None without one."""
    cost = case["greedy"]["cost"] + 1e-9
    return min((point.moves for point in plan.frontier if point.cost <= cost), default=None)


def moves_in_total(rows: Sequence[tuple[dict[str, Any], ConsolidationPlan]]) -> Iterator[str]:
    """Moves of greedy and of plans that cost no more, over all clusters where there is one."""
    pairs = [(case["greedy"]["moves"], moves_to_greedy(case, plan)) for case, plan in rows]
    found = [(theirs, ours) for theirs, ours in pairs if ours is not None]
    yield f"greedy {sum(theirs for theirs, _ in found)}, plans {sum(ours for _, ours in found)},"
    yield f"more in {sum(ours > theirs for theirs, ours in found)} of {len(found)}"
    yield f"({len(pairs) - len(found)} without such a plan)"


def total(rows: Sequence[tuple[dict[str, Any], ConsolidationPlan]]) -> str:
    """The part of the gap between greedy and bound that is closed, and the moves."""
    greedy, bound = sum(c["greedy"]["cost"] for c, _ in rows), sum(c["bound"] for c, _ in rows)
    plans = sum(plan.cost.after for _, plan in rows)
    above = sum(plan.cost.after > case["greedy"]["cost"] + 1e-9 for case, plan in rows)
    moves = sum(case["greedy"]["moves"] for case, _ in rows), sum(len(plan.steps) for _, plan in rows)
    closed = (greedy - plans) / (greedy - bound) if greedy > bound else 1.0
    return (
        f"greedy {greedy:.3f}, plans {plans:.3f}, bound {bound:.3f}: {closed:.0%} of the gap closed,"
        f" {above} above greedy; moves {moves[0]} -> {moves[1]}"
    )


if __name__ == "__main__":
    main()
