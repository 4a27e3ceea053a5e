"""Notes that every answer has: on what was read, and on what is not modelled of the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from planner.problem.problem import Problem
from planner.scheduler.profile import profiles_of, unmodelled


def notes_on(problem: Problem, *, proves: bool = False) -> Iterator[str]:
    """Those of what was read, and `remarks`; one more where the answer `proves` that none is better."""
    yield from problem.cluster.notes
    yield from problem.notes
    if proves:
        yield from problem.unproved
    yield from remarks(problem)


def remarks(problem: Problem, absent: Collection[int] = ()) -> Iterator[str]:
    """What of the scheduler's configuration is not modelled, and which pods are not its own.

    Those are counted by their scheduler, but for those that are yet to come.
    """
    yield from unmodelled(problem.cluster.scheduler_config)
    known = profiles_of(problem.cluster.scheduler_config)
    others = Counter(
        problem.pods[pod].spec.scheduler_name
        for pod in problem.queue()
        if pod not in absent and problem.pods[pod].spec.scheduler_name not in known
    )
    for name, pods in sorted(others.items()):
        asking = "1 pending pod asks" if pods == 1 else f"{pods} pending pods ask"
        yield f"{asking} for scheduler {name}, which has no profile here: left alone"


def no_profile(scheduler: str) -> str:
    """Why a pod that is to come is placed nowhere, in place of a line of the scheduler."""
    return f"it asks for scheduler {scheduler}, which has no profile here"
