"""The recorded packings with moves allowed: placed, bound, moves, seconds, beside a plain model's figures.

`python benchmarks/packing.py [PART-OF-A-NAME...]`
"""

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

from models import Cluster
from planner import solve
from planner.documents.plan import MOVES

DATA = Path(__file__).parents[1] / "tests" / "data" / "batch" / "packing.jsonl.gz"
#: The bar: the whole call in so many seconds, and no fewer pods at any priority than the plain model.
_SECONDS = 10.0


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
    met = seconds <= _SECONDS and all(n >= row["placed"] for n, row in zip(sums, plain, strict=True))
    met = met and (proved or not plain_proved) and sums[-1] >= case["kubeSchedulerPlaced"]
    bound = sum(s.bound for _, s in stages if s.bound is not None)
    moves = plan.objective[-1]
    row = (
        f"| {case['name']} | {case['kubeSchedulerPlaced']} | {plain[-1]['placed']} | {sums[-1]} | {bound} "
        f"| {'yes' if proved else 'no'} | {moves.value} | {moves.bound} | {seconds:.2f} "
        f"| {'yes' if met else 'NO'} |"
    )
    return met, proved, moves.proved, row


def main() -> None:
    """Print a table, and how many cases meet the bar, are proved, and need the fewest moves for sure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="*", help="of a case's name; default all cases")
    wanted = parser.parse_args().part
    print("| case | kube | plain | placed | bound | proved | moves | moves at least | s | bar met |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    totals = [0, 0, 0, 0]
    with gzip.open(DATA, "rt") as lines:
        for case in map(json.loads, lines):
            if wanted and not any(part in case["name"] for part in wanted):
                continue
            *flags, row = measure(case)
            totals = [n + int(flag) for n, flag in zip(totals, (True, *flags), strict=True)]
            print(row, flush=True)
    print("\n{} cases, {} meet the bar, {} proved, {} with proved moves".format(*totals))


if __name__ == "__main__":
    main()
