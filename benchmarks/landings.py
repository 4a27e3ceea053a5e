"""Plans for the nine recorded clusters and for fresh ones like them: pins, what is left, and the replay.

`python benchmarks/landings.py [--each N] [--seed S] [--evict-only] [--soft]` prints a line for every
cluster, N fresh ones of each kind, and the sums: kinds of landings, hard and soft excess before and after,
and of a hundred random ways through each plan those that end otherwise than the document says.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models import Cluster
from planner import rebalance
from tests.planner.rebalance.lopsided import lopsided
from tests.planner.rebalance.recorded_like import KINDS, recorded_like
from tests.planner.rebalance.test_recordings import wrong_in
from tests.planner.recordings import recorded


def _clusters(options: argparse.Namespace) -> Iterator[tuple[str, Cluster]]:
    if options.soft:
        for number in range(options.each):
            for kind in KINDS:
                yield f"{kind}-{number}", lopsided(options.seed + number, kind, soft_alone=True)
        return
    if not options.fresh:
        for case in recorded():
            yield case["name"], Cluster.from_objects(case["cluster"]["items"])
    for number in range(options.each):
        for kind in KINDS:
            yield f"{kind}-{number}", recorded_like(options.seed + number, kind)


def main() -> None:
    """A line for every cluster, and the sums."""
    options = _options()
    total = Counter[str]()
    print(f"seed {options.seed}")
    for name, cluster in _clusters(options):
        start = time.perf_counter()
        plan = rebalance(
            cluster, time_limit=options.time_limit, evict_only=options.evict_only, soft=options.soft
        )
        wall = time.perf_counter() - start
        wrong = wrong_in(cluster, plan, orders=options.draws, soft=options.soft)
        found = Counter[str](step.landing for step in plan.steps)
        stages = {stage.name: stage for stage in plan.objective}
        total += found
        total["clusters"] += 1
        total["excess left"] += plan.after.hard_excess
        total["soft excess left"] += plan.after.soft_excess
        total["ways that end otherwise"] += len(wrong)
        before, after = plan.before, plan.after
        print(
            f"{name}: {wall:.1f} s, {plan.status}, excess {before.hard_excess} -> {after.hard_excess} "
            f"(bound {stages['hardExcess'].bound}), soft {before.soft_excess} -> {after.soft_excess}, "
            f"{len(plan.steps)} moves (bound {stages['moves'].bound}), {dict(found)}, "
            f"{plan.steps[-1].wave if plan.steps else 0} waves, {len(wrong)} wrong",
            flush=True,
        )
        for line in wrong[:2]:
            print(f"    {line}")
    print(dict(total))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=5)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--evict-only", action="store_true")
    parser.add_argument("--soft", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="without the recorded ones")
    return parser.parse_args()


if __name__ == "__main__":
    main()
