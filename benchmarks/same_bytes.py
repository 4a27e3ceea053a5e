"""Whether every command prints the same bytes however it is run: hash seeds, one core, slowed four times.

`python benchmarks/same_bytes.py [--clusters N] [--seed S]`: every example and so many recorded clusters,
drawn, with every command. A document that says `cut` was ended by the limit, and is only counted.
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
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

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
#: As many as a small machine has cores run at a time; whoever is slowed stands still most of it.
_AT_A_TIME = threading.Semaphore(2)


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


class Runner:
    """A process that has imported everything, and splits off another for every command that it is given."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", **way.environment},
            text=True,
        )
        if way.one_core:
            os.sched_setaffinity(self._process.pid, {min(os.sched_getaffinity(0))})

    def run(self, arguments: Sequence[str]) -> Printed:
        """What a command prints, run in this way."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with nullcontext() if self._way.slowed else _AT_A_TIME, tempfile.NamedTemporaryFile() as out:
            print(json.dumps([out.name, *arguments]), file=self._process.stdin, flush=True)
            child = int(self._process.stdout.readline())
            ended = threading.Event()
            if self._way.slowed:
                threading.Thread(target=_slow, args=(child, ended), daemon=True).start()
            code = int(self._process.stdout.readline())
            ended.set()
            return Printed(out.read(), code)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        # Waits for its end, and closes its pipes.
        self._process.communicate()


def _slow(process: int, ended: threading.Event) -> None:
    """Let a process run for a moment, and stand still three times as long, until it ended."""
    try:
        while not ended.wait(_RUNS):
            os.kill(process, signal.SIGSTOP)
            ended.wait(_OF - _RUNS)
            os.kill(process, signal.SIGCONT)
    except ProcessLookupError:
        return


def serve() -> None:
    """Take commands from stdin, a line each; every one runs in a process that is split off."""
    from cli.main import main as program
    from planner import rebalance, solve  # noqa: F401 - what a command imports only when it needs it

    for line in sys.stdin:
        out, *arguments = json.loads(line)
        if (child := os.fork()) == 0:
            # Nothing that is asked next may be read here, and nothing may be answered from here.
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(os.open(out, os.O_WRONLY), 1)
            sys.argv = ["planner", *arguments]
            try:
                program()
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            sys.stdout.flush()
            os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


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
    """Print what differs, and a sum for every way at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, default=50, help="so many recorded ones; default 50")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        kept = list(recorded(Path(folder)))
        drawn = random.Random(asked.seed).sample(kept, min(asked.clusters, len(kept)))
        every = [
            (name, [*command, *files, "-o", "json"])
            for name, files in (*examples(), *drawn)
            for command in COMMANDS
        ]
        verdicts = {way.name: verdict for way, verdict in zip(WAYS[1:], _verdicts(every), strict=True)}
    print(f"{len(every)} documents, {time.monotonic() - began:.0f} s\n")
    print("| way | the same | cut | different |\n|---|---|---|---|")
    for way_name, found in verdicts.items():
        print(f"| {way_name} | {found['the same']} | {found['cut']} | {found['different']} |")
    sys.exit(any(found["different"] for found in verdicts.values()))


def _verdicts(every: Sequence[tuple[str, list[str]]]) -> list[Counter[str]]:
    """How many documents are the same, for every way but the plain one; each way has a process of its own."""
    with ExitStack() as stack:
        runners = [stack.enter_context(Runner(way)) for way in WAYS]
        pool = stack.enter_context(ThreadPoolExecutor(len(runners)))
        printed = [pool.submit(_all, runner, [words for _, words in every]) for runner in runners]
    plain, *others = map(Future.result, printed)
    verdicts = []
    for way, other in zip(WAYS[1:], others, strict=True):
        found = [_verdict(*pair) for pair in zip(plain, other, strict=True)]
        verdicts.append(Counter(found))
        for (name, arguments), verdict in zip(every, found, strict=True):
            if verdict == "different":
                print(f"{way.name}: {name}: {' '.join(arguments)}", flush=True)
    return verdicts


def _all(runner: Runner, every: Sequence[Sequence[str]]) -> list[Printed]:
    return [runner.run(arguments) for arguments in every]


def _verdict(one: Printed, other: Printed) -> str:
    if one == other:
        return "the same"
    return "cut" if one.cut or other.cut else "different"


if __name__ == "__main__":
    main()
