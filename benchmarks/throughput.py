"""Pods per second of the reference scheduler on the workloads of scheduler_perf.

`make bench`, or by hand: `python benchmarks/throughput.py TopologySpreading --nodes 5000 --write`.
"""

import argparse
import datetime
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import Measurement, measure_apart
from pages import machine, table_head, table_line
from shapes import listing
from workloads import SHAPES, Size, build

RESULTS = Path(__file__).parent / "results"

# kube-scheduler 1.34's algorithm on two quiet cores, pods/s, by workload and size. Above 100 nodes
# it looks at a sample of them only; we score all nodes, as it would with
# percentageOfNodesToScore: 100.
KUBE_SCHEDULER = {
    ("TopologySpreading", 100, 1_000): "3,008",
    ("TopologySpreading", 500, 1_000): "925",
    ("TopologySpreading", 5_000, 5_000): "565; 128 scoring all",
    ("SchedulingBasic", 5_000, 10_000): "1,114",
    ("PreferredTopologySpreading", 5_000, 5_000): "545",
    ("SchedulingPodAntiAffinity", 5_000, 2_000): "368",
}

HEADS = (
    "workload",
    "nodes",
    "init pods",
    "pods",
    "placed",
    "pods/s",
    "kube-scheduler pods/s",
    "load s",
    "compile s",
    "peak MiB",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One workload at one size, measured."""

    workload: str
    size: Size
    measured: Measurement

    def cells(self) -> list[str]:
        """The row as the table prints it, in the order of HEADS."""
        key = (self.workload, self.size.nodes, self.size.measured)
        result = self.measured
        return [
            self.workload,
            f"{self.size.nodes:,}",
            f"{self.size.init * len(SHAPES[self.workload].init):,}",
            f"{result['pending']:,}",
            f"{result['placed']:,}",
            f"{result['pending'] / result['run']:,.0f}",
            KUBE_SCHEDULER.get(key, "-"),
            f"{result['load']:.2f}",
            f"{result['compile']:.2f}",
            f"{result['peak_mib']:,}",
        ]


def run(names: Iterable[str], nodes: set[int], repeats: int) -> Iterator[Row]:
    """Measure the named workloads at all their sizes that have one of these numbers of nodes."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for size in SHAPES[name].sizes:
                if size.nodes in nodes:
                    snapshot = Path(folder) / "snapshot.json"
                    items = build(name, size).objects
                    snapshot.write_text(json.dumps(listing(items)))
                    yield Row(name, size, measure_apart(snapshot, repeats))


def results_page(rows: list[Row], repeats: int) -> str:
    """The Markdown page that goes into results/."""
    lines = [
        f"# Throughput, {datetime.date.today()}",
        "",
        machine("numpy", "pydantic"),
        f"Median of {repeats} runs, each workload in a process of its own; every node is scored.",
        "kube-scheduler: 1.34's algorithm on two such cores, sampling nodes as it does by default.",
        "",
        *table_head(HEADS),
        *(table_line(row.cells()) for row in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print each row as it is measured; with --write also the page."""
    sizes = {size.nodes for shape in SHAPES.values() for size in shape.sizes}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", nargs="*", help=f"any of {', '.join(SHAPES)}; default all")
    parser.add_argument(
        "--nodes", type=int, action="append", choices=sorted(sizes), help="default all above 5"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="also write results/<today>.md")
    arguments = parser.parse_args()
    if unknown := set(arguments.workload) - set(SHAPES):
        parser.error(f"no such workload: {', '.join(sorted(unknown))}")

    widths = [34, 6, 10, 7, 7, 8, 22, 7, 10, 9]
    print_cells(HEADS, widths)
    rows = []
    nodes = set(arguments.nodes or sizes - {5})
    for row in run(arguments.workload or SHAPES, nodes, arguments.repeats):
        print_cells(row.cells(), widths)
        rows.append(row)
    if arguments.write:
        RESULTS.mkdir(exist_ok=True)
        page = RESULTS / f"{datetime.date.today()}.md"
        page.write_text(results_page(rows, arguments.repeats))
        print(f"written: {page}", file=sys.stderr)


def print_cells(cells: Iterable[str], widths: list[int]) -> None:
    """One line of the table; the first column to the left, numbers to the right."""
    first, *rest = cells
    line = first.ljust(widths[0]) + "".join(
        cell.rjust(width + 1) for cell, width in zip(rest, widths[1:], strict=True)
    )
    print(line, flush=True)


if __name__ == "__main__":
    main()
