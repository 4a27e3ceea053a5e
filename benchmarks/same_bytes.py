"""Whether every command prints the same bytes however it is run: hash seeds, one core, slowed four times.

`python benchmarks/same_bytes.py [--clusters N] [--seed S]`: every example and so many recorded clusters,
drawn, with every command. A document that says `cut` was ended by the limit, and is only counted.

`python benchmarks/same_bytes.py --limits N [--seed S]`: N tiny clusters, drawn as for benchmarks/truth.py,
each with a command at `--time-limit` 1.9, 5 and 20, in this process.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from planner.documents.plan import SearchDocument

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

#: What is asked about tiny clusters, one after the other.
TINY = (
    "solve",
    "solve --allow-moves",
    "rebalance",
    "rebalance --evict-only",
    "scale-down",
    "compare",
    "explain --batch",
)
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
#: The limits at which tiny clusters are compared.
LIMITS = (1.9, 5.0, 20.0)
#: A cluster without a workload to scale down is drawn again, so far on.
_APART = 1_000_000
#: A process that is slowed four times runs for so many seconds of so many.
_RUNS, _OF = 0.05, 0.2
#: As many as a small machine has cores run at a time; a process that is slowed stands still most of it.
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


def tiny_questions(number: int) -> tuple[str, Callable[[float], SearchDocument]]:
    """A command and a question about a tiny cluster, at whatever limit."""
    from models import Cluster
    from planner import compare, explain, rebalance, scale_down, solve
    from tests.truth.generator import draw

    name = TINY[number % len(TINY)]
    drawn = {"compare": "solve", "explain --batch": "solve", "rebalance --evict-only": "rebalance"}
    several = (draw(number + again * _APART, drawn.get(name, name)) for again in range(_APART))
    case = next(case for case in several if case.replicas or name != "scale-down")
    cluster = Cluster.from_objects(case.objects)
    asked: dict[str, Callable[[float], SearchDocument]] = {
        "solve": lambda limit: solve(cluster, time_limit=limit),
        "solve --allow-moves": lambda limit: solve(cluster, time_limit=limit, allow_moves=True),
        "compare": lambda limit: compare(cluster, time_limit=limit),
        "explain --batch": lambda limit: explain(cluster, batch=limit),
        "rebalance": lambda limit: rebalance(cluster, time_limit=limit),
        "rebalance --evict-only": lambda limit: rebalance(cluster, time_limit=limit, evict_only=True),
        "scale-down": lambda limit: scale_down(cluster, case.replicas, time_limit=limit),
    }
    return name, asked[name]


def compare_limits(clusters: int, seed: int) -> bool:
    """Print what differs between limits, and a line for every command; whether anything did."""
    found: dict[str, Counter[str]] = {name: Counter() for name in TINY}
    for number in range(seed, seed + clusters):
        name, ask = tiny_questions(number)
        documents = [ask(limit) for limit in LIMITS]
        whole = {document.to_json() for document in documents if not document.cut}
        found[name]["clusters"] += 1
        found[name]["cut"] += sum(document.cut for document in documents)
        found[name]["different"] += len(whole) > 1
        if len(whole) > 1:
            print(f"{number}: {name}", flush=True)
    print("| command | clusters | documents that say cut | different |\n|---|---|---|---|")
    for name, counts in found.items():
        print(f"| {name} | {counts['clusters']} | {counts['cut']} | {counts['different']} |")
    return any(counts["different"] for counts in found.values())


def main() -> None:
    """Print what differs, and a sum for every way at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, default=50, help="so many recorded ones; default 50")
    parser.add_argument("--limits", type=int, help="so many tiny clusters at several limits instead")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return
    if asked.limits is not None:
        sys.exit(compare_limits(asked.limits, asked.seed))
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
