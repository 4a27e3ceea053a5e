"""One measurement in a process of its own: read a snapshot, compile it, schedule its pending pods.

Prints one JSON object. The other benchmarks start it, so that the peak memory is that of the
engine alone; by hand: `python benchmarks/measure.py snapshot.json --repeats 3`.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypedDict, TypeVar

from models import Cluster
from models.collector import old_left_alone
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler, SchedulingDecision

T = TypeVar("T")

STATUS = Path("/proc/self/status")


class Measurement(TypedDict):
    """What the child process prints; times in seconds, medians where there are repeats."""

    pending: int
    placed: int
    load: float
    compile: float
    run: float
    peak_mib: int


def measure_apart(snapshot: Path, repeats: int) -> Measurement:
    """Measure the snapshot in a fresh Python process."""
    command = [sys.executable, __file__, str(snapshot), "--repeats", str(repeats)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    measurement: Measurement = json.loads(answer)
    return measurement


def measure(snapshot: Path, repeats: int) -> Measurement:
    """Load once; compile and run as often as asked (0: compile only)."""
    cluster, load = timed(lambda: Cluster.load(str(snapshot)))
    if repeats == 0:
        _, compile_seconds = timed(lambda: Problem(cluster))
        return Measurement(
            pending=0, placed=0, load=load, compile=compile_seconds, run=0.0, peak_mib=peak_mib()
        )
    runs = [compile_and_run(cluster) for _ in range(repeats)]
    decisions = runs[0].decisions
    return Measurement(
        pending=len(decisions),
        placed=sum(decision.node is not None for decision in decisions),
        load=load,
        compile=statistics.median(run.compile_seconds for run in runs),
        run=statistics.median(run.run_seconds for run in runs),
        peak_mib=peak_mib(),
    )


class Run(NamedTuple):
    """One pass over the pending pods."""

    decisions: list[SchedulingDecision]
    compile_seconds: float
    run_seconds: float


def compile_and_run(cluster: Cluster) -> Run:
    """A run leaves its marks on the problem, so each gets one that nobody has used.

    As in `planner simulate`, the garbage collector leaves alone what was there before.
    """
    problem, compile_seconds = timed(lambda: Problem(cluster))
    with old_left_alone():
        decisions, run_seconds = timed(lambda: list(Scheduler(problem).run()))
    return Run(decisions, compile_seconds, run_seconds)


def timed(job: Callable[[], T]) -> tuple[T, float]:
    """What the job returns, and how long it took."""
    start = time.perf_counter()
    result = job()
    return result, time.perf_counter() - start


def peak_mib() -> int:
    """The most memory that this process held at any time.

    On Linux from its status: getrusage also remembers the parent from before the exec.
    """
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024**2 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Measure the file that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--repeats", type=int, default=3, help="0 stops after compiling")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.snapshot, arguments.repeats)))


if __name__ == "__main__":
    main()
