"""The reference scheduler again and again over one compiled problem, each time with other draws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from models.words import are, counted
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.proof.clock import Clock, Progress
from planner.scheduler.draws import sampled
from planner.scheduler.order import Step
from planner.scheduler.scheduler import Scheduler


class Runs:
    """One run that scores all nodes, and others that draw as the program does; no pod is evicted."""

    def __init__(
        self, problem: Problem, replays: int, clock: Clock, progress: Progress | None = None
    ) -> None:
        """When the clock is over one replay is enough; the run without draws is always whole."""
        self._problem = problem
        self._replays = replays
        self._clock = clock
        self._progress = progress
        self._done = 0

    @cached_property
    def queue(self) -> list[int]:
        """The pods that are scheduled, in their order."""
        return Scheduler(self._problem, preemption=False).queue

    @cached_property
    def by_name(self) -> Codes:
        """Where the scheduler puts every pod when the smallest name wins."""
        return self._run(None)

    @cached_property
    def drawn(self) -> dict[int, Codes]:
        """Where it puts them with the seeds 1, 2, 3 and so on, as many as there is time for."""
        found: dict[int, Codes] = {}
        for seed in range(1, self._replays + 1):
            if found and self._clock.over():
                break
            found[seed] = self._run(seed)
        return found

    def steps(self) -> Iterator[list[Step]]:
        """The binds of every run in their order, the run without draws first."""
        template_of = self._problem.template_of
        for node_of in (self.by_name, *self.drawn.values()):
            yield [(int(template_of[pod]), int(node_of[pod])) for pod in self.queue if node_of[pod] >= 0]

    def notes(self) -> Iterator[str]:
        """How many are missing; how far they differ, where each looked at a part of the nodes only."""
        if not self.queue:
            return
        played = len(self.drawn)
        if played < self._replays:
            yield f"stopped after {played} of {self._replays} replays"
        looked_at = sampled(self._problem)
        if looked_at is None:
            return
        placed = np.stack([*self.drawn.values()])[:, self.queue]
        size, pods = self._problem.nodes.size, len(self.queue)
        varied = int(np.count_nonzero((placed != placed[0]).any(axis=0)))
        several = f"{varied} of {counted(pods, 'pod')} {are(varied)}"
        yield (
            f"{played} replays, each looking at {looked_at} feasible nodes of {size} for a pod, as "
            f"kube-scheduler does: {several} not always on the same node"
        )

    def _run(self, seed: int | None) -> Codes:
        scheduler = Scheduler(self._problem, preemption=False, seed=seed)
        total = len(self.queue) * (self._replays + 1)
        for _ in scheduler.run():
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, total)
        return scheduler.state.node_of
