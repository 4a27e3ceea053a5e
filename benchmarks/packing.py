"""The recorded packings with moves allowed: placed, bound, moves, seconds, beside a plain model's figures.

`python benchmarks/packing.py [PART-OF-A-NAME...]`; with `--drawn SEED` packings that nobody has seen.
"""

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packing_cases import cases

from models import Cluster
from planner import solve
from planner.documents.plan import MOVES

DATA = Path(__file__).parents[1] / "tests" / "data" / "batch" / "packing.jsonl.gz"
#: The bar: within so many seconds, and a moment to end, never fewer pods than the plain model at the first
#: priority where the two differ.
_SECONDS, _MOMENT = 10.0, 0.5


def measure(case: dict[str, Any]) -> tuple[bool, bool, bool, str]:
    """Whether the bar is met, the pods placed and the moves are proved to be the best; and a row."""
    found = Cluster.from_objects(case["cluster"]["items"])
    start = time.perf_counter()
    plan = solve(found, allow_moves=True, time_limit=_SECONDS)
    seconds = time.perf_counter() - start
    stages = [(int(s.name.partition("/")[2]), s) for s in plan.objective if s.name != MOVES]
    plain = case["plainCpSat8s"]
    sums = [sum(s.value for p, s in stages if p >= row["priority"]) for row in plain]
    proved = plan.status == "Optimal"
    plain_proved = all(row["placed"] == row["bound"] for row in plain)
    met = seconds <= _SECONDS + _MOMENT and sums >= [row["placed"] for row in plain]
    met = met and (proved or not plain or not plain_proved)
    bound = sum(s.bound for _, s in stages if s.bound is not None)
    moves = plan.objective[-1]
    row = (
        f"| {case['name']} | {case['kubeSchedulerPlaced']} | {plain[-1]['placed'] if plain else '-'} "
        f"| {sum(s.value for _, s in stages)} | {bound} "
        f"| {'yes' if proved else 'no'} | {moves.value} | {moves.bound} | {seconds:.2f} "
        f"| {'yes' if met else 'NO'} |"
    )
    return met, proved, moves.proved, row


def _recorded() -> Iterator[dict[str, Any]]:
    with gzip.open(DATA, "rt") as lines:
        yield from map(json.loads, lines)


def main() -> None:
    """Print a table, and how many cases meet the bar, are proved, and need the fewest moves for sure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help="of a case's name; default all cases")
    parser.add_argument("--drawn", type=int, metavar="SEED", help="not the recorded ones: drawn like them")
    asked = parser.parse_args()
    wanted = asked.part
    print("| case | kube | plain | placed | bound | proved | moves | moves at least | s | bar met |")
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
