"""Whether this checkout is as fast as another one: every row of the benchmarks in both, in turns.

`python benchmarks/side_by_side.py --base ../other` prints the medians of both and their ratio, row by row;
`--only TEXT` takes the rows whose name contains that. Every measurement is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from batches import SIZES, objects
from explaining import pending, running
from shapes import Manifest, listing
from solve import FILLS, STATES, TIME_LIMITS
from workloads import SHAPES, Size, build

#: Up to so many nodes no user waits for an answer.
TINY = 5
HERE = Path(__file__).parents[1]
_SNAPSHOT = "SNAPSHOT"
_EXPLAIN = "import sys, time; from models import Cluster; from planner import explain; \
cluster = Cluster.load(sys.argv[1]); start = time.perf_counter(); explain(cluster); \
print(time.perf_counter() - start)"


@dataclass(frozen=True, slots=True)
class Row:
    """What is measured: a command of either checkout, about a snapshot, and the seconds in what it prints."""

    name: str
    command: Sequence[str]
    seconds: Callable[[str], float]
    snapshot: Callable[[], list[Manifest]] | None = None


def rows() -> Iterator[Row]:
    """`simulate`, `solve`, `explain` and `rebalance` as the other benchmarks ask them."""
    for name, shape in SHAPES.items():
        for size in (size for size in shape.sizes if size.nodes > TINY):
            yield Row(
                f"simulate {name} {size.nodes} {size.measured}",
                ("benchmarks/measure.py", _SNAPSHOT, "--repeats", "3"),
                lambda out: float(json.loads(out)["compile"] + json.loads(out)["run"]),
                partial(_workload, name, size),
            )
    for batch, fill, state in product(SIZES, FILLS, STATES):
        yield Row(
            f"solve {batch} {fill} {state}",
            ("benchmarks/measure_solve.py", _SNAPSHOT, "--time-limit", str(TIME_LIMITS[batch])),
            lambda out: float(json.loads(out)["wall"]),
            partial(objects, batch, fill, state == "used", 0),
        )
    for trouble, manifest in pending().items():
        yield Row(f"explain {trouble}", ("-c", _EXPLAIN, _SNAPSHOT), float, partial(_in_use, manifest))
    for room in ("0.8", "0.99", "0.999"):
        yield Row(f"rebalance {room}", ("benchmarks/rebalance.py", "--fill", room), _wall)


def _workload(name: str, size: Size) -> list[Manifest]:
    return build(name, size).objects


def _in_use(pending: Manifest) -> list[Manifest]:
    """A large cluster in use, and a pod that finds no node."""
    return [*running(5_000, 50_000), pending]


def _wall(line: str) -> float:
    found = re.search(r": ([0-9.]+) s,", line)
    if found is None:
        raise ValueError(f"no time in: {line}")
    return float(found[1])


def measured(row: Row, checkouts: Sequence[Path], rounds: int) -> list[float]:
    """The median of every checkout; they take turns."""
    found: list[list[float]] = [[] for _ in checkouts]
    with tempfile.TemporaryDirectory() as folder:
        snapshot = Path(folder) / "snapshot.json"
        if row.snapshot is not None:
            snapshot.write_text(json.dumps(listing(row.snapshot())))
        command = [sys.executable, *(str(snapshot) if word == _SNAPSHOT else word for word in row.command)]
        for _ in range(rounds):
            for checkout, seconds in zip(checkouts, found, strict=True):
                environment = {**os.environ, "PYTHONPATH": str(checkout)}
                out = subprocess.run(
                    command, cwd=checkout, env=environment, stdout=subprocess.PIPE, check=True, text=True
                ).stdout
                seconds.append(row.seconds(out))
    return [statistics.median(seconds) for seconds in found]


def main() -> None:
    """Print each row as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True, help="the other checkout")
    parser.add_argument("--only", action="append", default=[], help="rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    print("| row | base s | here s | here / base |\n|---|---|---|---|")
    for row in rows():
        if all(text in row.name for text in asked.only):
            base, here = measured(row, (asked.base.resolve(), HERE), asked.rounds)
            print(f"| {row.name} | {base:.3f} | {here:.3f} | {here / base:.2f} |", flush=True)


if __name__ == "__main__":
    main()
