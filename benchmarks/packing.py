"""The recorded batches with moves allowed, beside `solve` without moves and what a plain model finds.

`python benchmarks/packing.py [PART-OF-A-NAME...]`; with `--drawn SEED` packings that are new.
Met is the bar where no pod of the first priority that differs is missing against either of the two, and
all of the limit was used where the proof is open. Proved counts what is proved on a condition, too.
"""

import argparse
import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from packing_cases import cases
from plain_model import plain

from models import Cluster
from planner import solve
from planner.documents.plan import MOVES, PlacementPlan

DATA = Path(__file__).parents[1] / "tests" / "data" / "batch"
#: The bar: within so many seconds, and a moment to end.
_SECONDS, _MOMENT = 10.0, 0.5


def measure(case: dict[str, Any]) -> tuple[bool, bool, bool, str]:
    """Whether the bar is met, the pods placed and the moves are proved to be the best; and a row."""
    found = Cluster.from_objects(case["cluster"]["items"])
    start = time.perf_counter()
    plan = solve(found, allow_moves=True, time_limit=_SECONDS)
    seconds = time.perf_counter() - start
    still, there = (_running(found, some) for some in (solve(found, time_limit=_SECONDS), plan))
    proved = plan.status != "Feasible"
    # Of a case that was not recorded, the plain model is asked only where it could be better.
    is_packing = case["name"].startswith("packing")
    rows = case.get("plainCpSat8s", plain(found) if is_packing and not proved else [])
    plain_proved = bool(rows) and all(row["placed"] == row["bound"] for row in rows)
    met = (
        seconds <= _SECONDS + _MOMENT
        and list(there.values()) >= list(still.values())
        and [there[row["priority"]] for row in rows] >= [row["placed"] for row in rows]
        and (proved or (plan.cut and not plain_proved))
    )
    stages = [stage for stage in plan.objective if stage.name != MOVES]
    bound = sum(stage.bound for stage in stages if stage.bound is not None)
    placed, moves = sum(stage.value for stage in stages), plan.objective[-1]
    without = placed + list(still.values())[-1] - list(there.values())[-1]
    row = (
        f"| {case['name']} | {rows[-1]['placed'] if rows else '-'} | {without} | {placed} | {bound} "
        f"| {'yes' if proved else 'no'} | {moves.value} | {moves.bound} | {seconds:.2f} "
        f"| {'yes' if met else 'NO'} |"
    )
    return met, proved, moves.proved, row


def _running(cluster: Cluster, plan: PlacementPlan) -> dict[int, int]:
    """For every priority, the highest first, the pods of it or a higher one that run after a plan."""
    priority = {pod.key: pod.priority for pod in cluster.pods}
    pods = Counter(pod.priority for pod in cluster.pods if pod.spec.node_name)
    for step in plan.steps:
        pods[priority[step.pod]] += 1 if step.action == "bind" else -1
    order = sorted(set(priority.values()), reverse=True)
    return dict(zip(order, accumulate(pods[each] for each in order), strict=True))


def _recorded() -> Iterator[dict[str, Any]]:
    for name in ("batch", "stuck", "packing"):
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as lines:
            yield from map(json.loads, lines)


def main() -> None:
    """Print a table, and how many cases meet the bar, are proved, and need the fewest moves for sure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help="of a case's name; default all cases")
    parser.add_argument("--drawn", type=int, metavar="SEED", help="not the recorded ones: drawn like them")
    asked = parser.parse_args()
    wanted = asked.part
    print("| case | plain | no moves | placed | bound | proved | moves | moves at least | s | bar met |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    totals = [0, 0, 0, 0]
    for case in _recorded() if asked.drawn is None else cases(asked.drawn):
        if wanted and not any(part in case["name"] for part in wanted):
            continue
        *flags, row = measure(case)
        totals = [n + int(flag) for n, flag in zip(totals, (True, *flags), strict=True)]
        print(row, flush=True)
    print("\n{} cases, {} meet the bar, {} proved, {} with proved moves".format(*totals))


if __name__ == "__main__":
    main()
