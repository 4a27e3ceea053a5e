"""Whether every command prints the same bytes however it is run: hash seeds, one core, slowed four times.

`python benchmarks/same_bytes.py [--sample N]`: every example and recorded cluster with every command,
or so many drawn at random. A document that says `cut` was ended by the limit, and is only counted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What is run about every snapshot.
COMMANDS = (
    ("check",),
    ("simulate",),
    ("solve",),
    ("solve", "--allow-moves"),
    ("compare",),
    ("rebalance",),
    ("explain",),
)
#: A process that is slowed four times runs for so many seconds of so many.
_RUNS, _OF = 0.05, 0.2
_PROGRAM = (sys.executable, "-c", "from cli.main import main; main()")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run a command: one core or all, a hash seed, at full speed or slowed."""

    name: str
    one_core: bool = False
    slowed: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


WAYS = (
    Way("plain"),
    *(Way(f"hash seed {seed}", environment={"PYTHONHASHSEED": str(seed)}) for seed in range(1, 6)),
    Way("one core", one_core=True),
    Way("slowed four times", slowed=True),
)


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command printed, how it ended, and whether its search was cut short."""

    out: bytes
    code: int

    @property
    def cut(self) -> bool:
        return b'"cut": true' in self.out or b"cut short" in self.out


def run(arguments: Sequence[str], way: Way) -> Printed:
    """A command in a process of its own, run in some way."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", **way.environment}
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            [*_PROGRAM, *arguments], stdout=out, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment
        )
        if way.one_core:
            os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        while way.slowed and process.poll() is None:
            _rest(process)
        code = process.wait()
        out.seek(0)
        return Printed(out.read(), code)


def _rest(process: subprocess.Popen[bytes]) -> None:
    """Let a process run for a moment, and stand still three times as long."""
    time.sleep(_RUNS)
    if process.poll() is None:
        process.send_signal(signal.SIGSTOP)
        time.sleep(_OF - _RUNS)
        process.send_signal(signal.SIGCONT)


def examples() -> Iterator[tuple[str, list[str]]]:
    """Every example's name and what is read for it."""
    for folder in sorted(ROOT.glob("examples/*/")):
        if any(folder.glob("*.yaml")):
            yield folder.name, ["-f", str(folder)]


def recorded(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Every recorded cluster's name and its snapshot, written into a folder."""
    for data in sorted(ROOT.glob("tests/data/*/*.jsonl.gz")):
        if data.parent.name not in {"batch", "rebalance"}:
            continue
        with gzip.open(data, "rt") as lines:
            for case in map(json.loads, lines):
                snapshot = folder / f"{case['name']}.json"
                snapshot.write_text(json.dumps(case["cluster"]))
                yield case["name"], ["-f", str(snapshot)]


def main() -> None:
    """Print what differs as it is found, and a sum for every way at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="so many drawn from all; default all")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        every = [
            (name, [*command, *files, "-o", "json"])
            for name, files in (*examples(), *recorded(Path(folder)))
            for command in COMMANDS
        ]
        if asked.sample is not None:
            every = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
        verdicts: dict[str, Counter[str]] = {way.name: Counter() for way in WAYS[1:]}
        for name, arguments in every:
            plain = run(arguments, WAYS[0])
            for way in WAYS[1:]:
                verdict = _verdict(plain, run(arguments, way))
                verdicts[way.name][verdict] += 1
                if verdict == "different":
                    print(f"{way.name}: {name}: {' '.join(arguments)}", flush=True)
    print("| way | the same | cut | different |\n|---|---|---|---|")
    for way_name, found in verdicts.items():
        print(f"| {way_name} | {found['the same']} | {found['cut']} | {found['different']} |")
    sys.exit(any(found["different"] for found in verdicts.values()))


def _verdict(one: Printed, other: Printed) -> str:
    if (one.out, one.code) == (other.out, other.code):
        return "the same"
    return "cut" if one.cut or other.cut else "different"


if __name__ == "__main__":
    main()
