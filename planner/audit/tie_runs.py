"""The reference scheduler again and again over one compiled problem, each time with other ties."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from planner.audit.summary import by_priority
from planner.documents.comparison import Replay, Replays
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler

#: Told how many are done, of how many.
Progress = Callable[[int, int], None]


class Runs:
    """One run in which the smallest name wins ties, and others in which they are drawn; nobody is evicted."""

    def __init__(self, problem: Problem, replays: int, progress: Progress | None = None) -> None:
        self._problem = problem
        self._replays = replays
        self._progress = progress
        self._done = 0

    @cached_property
    def queue(self) -> list[int]:
        """The pods that are scheduled, in their order."""
        return Scheduler(self._problem, preemption=False).queue

    def scheduled(self) -> Codes:
        """Where the scheduler puts every pod when the smallest name wins."""
        return self._run(None)

    def drawn(self) -> Replays:
        """The worst, the median and the best of the replays; the seeds are 1, 2, 3 and so on."""
        found = sorted((self._replay(seed) for seed in range(1, self._replays + 1)), key=_worth)
        return Replays(
            runs=self._replays, worst=found[0], median=found[(self._replays - 1) // 2], best=found[-1]
        )

    def _replay(self, seed: int) -> Replay:
        counts = by_priority(self._problem, self.queue, self._run(seed))
        return Replay(seed=seed, placed=sum(count.placed for count in counts), by_priority=counts)

    def _run(self, seed: int | None) -> Codes:
        scheduler = Scheduler(self._problem, preemption=False, seed=seed)
        total = len(self.queue) * (self._replays + 1)
        for _ in scheduler.run():
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, total)
        return scheduler.state.node_of


def _worth(replay: Replay) -> tuple[int, ...]:
    """What `solve` looks at first: the pods placed of each priority, the highest first."""
    return tuple(count.placed for count in replay.by_priority)
