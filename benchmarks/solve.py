"""How fast and how well `planner solve` places generated batches, as a Markdown table.

`make bench-solve`, or by hand: `python benchmarks/solve.py --size 500x5000x100 --fill 0.9`.
Times are from objects in memory to checked plan, ortools imported on the way; the first plan is
there when as many pods are placed as the reference scheduler places.
"""

import argparse
from itertools import product

from batches import SIZES, objects
from measure_solve import HEADS, measure_solve_apart
from pages import machine, table_head, table_line

#: Seconds that a batch of each size may take.
TIME_LIMITS = dict(zip(SIZES, (5.0, 8.0, 15.0, 60.0), strict=True))
FILLS = (0.9, 0.95)
STATES = ("empty", "used")


def main() -> None:
    """Print each row as soon as it is measured."""
    asked = _parser().parse_args()
    sizes = [size for size in SIZES if not asked.size or str(size) in asked.size]
    print(machine("ortools", "numpy", "pydantic"))
    print(f"Medians of {asked.repeats}, each run in a process of its own.\n")
    print(*table_head(("nodes are", "fill", "seed", *HEADS)), sep="\n", flush=True)
    for size, fill, state, seed in product(
        sizes, asked.fill or FILLS, asked.nodes or STATES, asked.seed or (0,)
    ):
        manifests = objects(size, fill, state == "used", seed)
        measured = measure_solve_apart(manifests, asked.time_limit or TIME_LIMITS[size], asked.repeats)
        print(table_line([state, f"{fill:.2f}", str(seed), *measured.cells()]), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--size", action="append", choices=list(map(str, SIZES)), help="nodes x pods x templates; default all"
    )
    parser.add_argument("--fill", type=float, action="append", help=f"of the free room; default {FILLS}")
    parser.add_argument("--nodes", action="append", choices=STATES, help="default both")
    parser.add_argument("--seed", type=int, action="append", help="default 0")
    parser.add_argument("--time-limit", type=float, help="seconds; default 5, 8, 15 and 60 by size")
    parser.add_argument("--repeats", type=int, default=3)
    return parser


if __name__ == "__main__":
    main()
