"""`planner fleet` and `planner sweep` as a user runs them: one process, two, and each command alone.

By hand: `python benchmarks/fleet.py draw FOLDER --clusters 200`, `python benchmarks/fleet.py time FOLDER` and
`python benchmarks/fleet.py sweep FILE`.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from batches import BatchSize, objects
from capacity import bound

from models import Cluster
from planner import simulate

_PLANNER = (str(Path(sys.executable).with_name("planner")),)
_QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("check",),
    ("capacity",),
    ("check", "--survive", "topology.kubernetes.io/zone"),
)
#: So many answers of each are compared with the command alone.
_COMPARED = 20


def main() -> None:
    """Draw clusters, or measure on them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("draw", "time", "sweep"))
    parser.add_argument("place", type=Path)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--most-nodes", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--question", nargs=argparse.REMAINDER, default=[], help="this one alone, last")
    options = parser.parse_args()
    if options.what == "draw":
        _draw(options.place, options.clusters, options.most_nodes, options.seed)
    elif options.what == "time":
        for question in [tuple(options.question)] if options.question else _QUESTIONS:
            _time(options.place, question)
    else:
        _sweep(options.place)


def _draw(folder: Path, clusters: int, most: int, seed: int) -> None:
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(clusters):
        nodes = draw.randint(50, most)
        batch = objects(BatchSize(nodes, nodes * 10, max(nodes // 10, 5)), 0.9, False, seed + number)
        decided = simulate(Cluster.from_objects(batch)).decisions
        items = bound(batch, {decision.pod: decision.node for decision in decided})
        listing = {"apiVersion": "v1", "kind": "List", "items": items}
        (folder / f"cluster-{number:03}.json").write_text(json.dumps(listing))


def _time(folder: Path, question: Sequence[str]) -> None:
    """One line: seconds with one process and with two, and whether rows are as the command alone has them."""
    took, told = {}, {}
    for jobs in ("1", "2"):
        asked = ("fleet", *question, "--snapshots", str(folder), "--jobs", jobs, "-o", "json")
        took[jobs], told[jobs] = _run(asked)
    rows = json.loads(told["1"])["rows"]
    drawn = random.Random(0).sample(rows, min(_COMPARED, len(rows)))
    alone = sum(row["document"] == _alone(question, folder / f"{row['cluster']}.json") for row in drawn)
    print(
        f"{' '.join(question)}: {len(rows)} clusters, {took['1']:.1f} s, {took['2']:.1f} s with two "
        f"({took['1'] / took['2']:.2f} times), the same bytes: {told['1'] == told['2']}, "
        f"as alone: {alone} of {len(drawn)}"
    )


def _sweep(file: Path) -> None:
    """3 zones, 50 scales and 3 releases, beside a tenth of the commands alone."""
    items = json.loads(file.read_text())["items"]
    workload = next(item["metadata"] for item in items if item["kind"] == "ReplicaSet")
    name = f"replicaset/{workload['name']}.{workload['namespace']}"
    zone = "topology.kubernetes.io/zone"
    varied = [f"lose={zone}", f"scale={name}=1..50", "kubernetes=1.34..1.36"]
    asked = ("sweep", "check", "-f", str(file), *(word for spec in varied for word in ("--vary", spec)))
    seconds, text = _run((*asked, "-o", "json"))
    rows = json.loads(text)["rows"]
    drawn = random.Random(0).sample(rows, max(len(rows) // 10, 1))
    began = time.perf_counter()
    same = 0
    for row in drawn:
        values = dict(part.rpartition("=")[::2] for part in row["scenario"].split())
        flags = (
            "--remove-node",
            f"{zone}={values[f'lose={zone}']}",
            "--scale",
            f"{name}={values[f'scale={name}']}",
            "--kubernetes",
            values["kubernetes"],
        )
        same += row["document"] == _alone(("check", *flags), file)
    alone = (time.perf_counter() - began) / len(drawn) * len(rows)
    print(
        f"{len(rows)} scenarios: {seconds:.1f} s, {alone:.0f} s as commands ({alone / seconds:.1f} times), "
        f"as alone: {same} of {len(drawn)}"
    )


def _alone(question: Sequence[str], file: Path) -> Any:
    return json.loads(_run((*question, "-f", str(file), "-o", "json"))[1])


def _run(words: Sequence[str]) -> tuple[float, str]:
    began = time.perf_counter()
    ended = subprocess.run([*_PLANNER, *words], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if ended.returncode not in (0, 1):
        raise SystemExit(ended.stderr)
    return seconds, ended.stdout


if __name__ == "__main__":
    main()
