"""The reference scheduler again and again over one compiled problem, each time with other draws."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from planner.audit.summary import by_priority
from planner.clock import is_stop_requested
from planner.documents.comparison import Replay, Replays
from planner.problem.nodes import Codes, Mask
from planner.problem.problem import Problem
from planner.scheduler.draws import sampled
from planner.scheduler.scheduler import Scheduler

#: Told how many are done, of how many.
Progress = Callable[[int, int], None]


class Runs:
    """One run that scores all nodes, and others that draw as the program does; no pod is evicted."""

    def __init__(
        self,
        problem: Problem,
        replays: int,
        progress: Progress | None = None,
        stop_event: threading.Event | None = None,
    ) -> None:
        """A set `stop_event` means that the user wants the answer now: then one replay is enough."""
        self._problem = problem
        self._replays = replays
        self._progress = progress
        self._stop_event = stop_event
        #: How many replays there were.
        self._played = 0
        self._done = 0
        #: Where the first replay put every pod, and which pods all replays since have put there too.
        self._first: Codes | None = None
        self._steady: Mask | None = None

    @cached_property
    def queue(self) -> list[int]:
        """The pods that are scheduled, in their order."""
        return Scheduler(self._problem, preemption=False).queue

    def scheduled(self) -> Codes:
        """Where the scheduler puts every pod when the smallest name wins."""
        return self._run(None)

    def drawn(self) -> Replays:
        """The worst, the median and the best of the replays; the seeds are 1, 2, 3 and so on."""
        found = sorted(self._replayed(), key=_worth)
        return Replays(runs=len(found), worst=found[0], median=found[(len(found) - 1) // 2], best=found[-1])

    def _replayed(self) -> Iterator[Replay]:
        """All replays that there is time for, at least one."""
        for seed in range(1, self._replays + 1):
            if self._played and is_stop_requested(self._stop_event):
                return
            yield self._replay(seed)
            self._played += 1

    def notes(self) -> Iterator[str]:
        """How many are missing; how far they differ, where each looked at a part of the nodes only."""
        if self._played < self._replays:
            yield f"stopped after {self._played} of {self._replays} replays"
        looked_at = sampled(self._problem)
        if looked_at is None or self._steady is None:
            return
        size, pods = self._problem.nodes.size, len(self.queue)
        varied = pods - int(np.count_nonzero(self._steady[self.queue]))
        yield (
            f"{self._played} replays, each looking at {looked_at} feasible nodes of {size} for a pod, as "
            f"kube-scheduler does: {varied} of {pods} pods are not always on the same node"
        )

    def _replay(self, seed: int) -> Replay:
        node_of = self._run(seed)
        if self._first is None or self._steady is None:
            self._first, self._steady = node_of.copy(), np.ones(len(node_of), np.bool_)
        self._steady = self._steady & (node_of == self._first)
        counts = by_priority(self._problem, self.queue, node_of)
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
