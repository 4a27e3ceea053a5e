"""Whole commands on very large clusters: seconds, CPU and peak memory of each, as a Markdown table.

`python benchmarks/large.py DIR --size 20000x200000x1000 --ask solve --ask check` writes the generated
batch to DIR, and the cluster in which it runs as `solve` places it, and keeps both for the next time.
The drain is of a pool of 1,000 nodes, or of a tenth of all where there are fewer.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from batches import BatchSize, objects
from capacity import bound
from pages import machine, table_head, table_line

PLANNER = Path(sys.executable).parent / "planner"
#: What is asked of the running cluster.
QUESTIONS = {
    "check": ("check",),
    "survive": ("check", "--survive", "topology.kubernetes.io/zone"),
    "rebalance": ("rebalance",),
    "drain": ("drain", "-l", "pool=leaving", "--at-once", "100"),
    "capacity": ("capacity",),
    "snapshot": ("snapshot",),
}
POOL = 1_000


def main() -> None:
    """One line for each question."""
    asked = _parser().parse_args()
    size = BatchSize(*map(int, asked.size.split("x")))
    folder = Path(asked.dir) / f"{asked.size}-{asked.fill}-{asked.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    batch, solved, running = (folder / f"{name}.json" for name in ("batch", "solve", "running"))
    if not batch.exists():
        _write(batch, objects(size, asked.fill, lived_in=False, seed=asked.seed))
    print(machine("ortools", "numpy", "pydantic"))
    print(*table_head(("question", "nodes", "seconds", "CPU s", "peak MiB", "exit", "result")), sep="\n")
    for question in asked.ask or ["solve"]:
        if question == "solve":
            cells = measured(["solve", "-f", str(batch)], solved)
            running.unlink(missing_ok=True)
        else:
            if not solved.exists():
                measured(["solve", "-f", str(batch)], solved)
            if not running.exists():
                _run_batch(size, asked, solved, running)
            cells = measured([*QUESTIONS[question], "-f", str(running)], folder / f"{question}.json")
        print(table_line([question, f"{size.nodes:,}", *cells]), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", help="for the snapshots; gigabytes for the largest sizes")
    parser.add_argument("--size", default="5000x50000x500", help="nodes x pods x templates")
    parser.add_argument("--fill", type=float, default=0.9, help="of the room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ask", action="append", choices=["solve", *QUESTIONS], help="default: solve")
    return parser


def _write(path: Path, items: Sequence[object]) -> None:
    """A list as kubectl prints it, an item at a time."""
    with path.open("w") as file:
        file.write('{"apiVersion":"v1","kind":"List","items":[')
        file.writelines(_lines(items))
        file.write("]}")


def _lines(items: Sequence[object]) -> Iterator[str]:
    for number, item in enumerate(items):
        yield (",\n" if number else "") + json.dumps(item)


def _run_batch(size: BatchSize, asked: argparse.Namespace, plan: Path, running: Path) -> None:
    """The cluster in which the batch runs as `solve` placed it; the first nodes are a pool of their own."""
    nodes = {step["pod"]: step["node"] for step in json.loads(plan.read_text())["steps"]}
    items = bound(objects(size, asked.fill, lived_in=False, seed=asked.seed), nodes)
    found = [item for item in items if item["kind"] == "Node"]
    for item in found[: min(POOL, len(found) // 10)]:
        item["metadata"]["labels"]["pool"] = "leaving"
    _write(running, items)


def measured(words: Sequence[str], document: Path) -> list[str]:
    """The cells of a command; what it prints is kept."""
    began = time.perf_counter()
    with document.open("w") as file, document.with_suffix(".err").open("w") as errors:
        command = [PLANNER, *words, *(() if words[0] == "snapshot" else ("-o", "json"))]
        child = subprocess.Popen(command, stdout=file, stderr=errors)
        _, status, used = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    child.returncode = code
    seconds = time.perf_counter() - began
    cpu = used.ru_utime + used.ru_stime
    return [
        f"{seconds:.1f}",
        f"{cpu:.1f}",
        f"{used.ru_maxrss / 1024:,.0f}",
        str(code),
        _result(words, document),
    ]


def _result(words: Sequence[str], document: Path) -> str:
    """Of a plan of `solve` how much it places; of the others the size of the answer."""
    if words[0] != "solve":
        return f"{document.stat().st_size / 2**20:,.0f} MiB"
    stage = json.loads(document.read_text())["objective"][0]
    return f"{stage['value']:,} of {stage['bound']:,} pods"


if __name__ == "__main__":
    main()
