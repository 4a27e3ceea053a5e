"""What happens in a rollout, in the order of time: controllers, scheduler and kubelets react to each other.

A controller that is woken reconciles a moment later; one in the middle of a reconcile is woken again after
it.  A reconcile is a series of writes, and other controllers write in between.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from planner.simulation.rollout.cluster_simulation import ClusterSimulation, PodChange
from planner.simulation.rollout.controllers import Backlog, Controller, ControllerRun
from planner.simulation.rollout.pace import Pace

#: What may make room for others.
_GONE = frozenset({PodChange.LOST, PodChange.STUCK, PodChange.ENDED, PodChange.SUCCEEDED})


@dataclass(order=True, slots=True)
class _TimelineEntry:
    time: float
    number: int
    act: Callable[[], None] = field(compare=False)


class Timeline:
    """Runs the simulation until nothing moves."""

    def __init__(self, simulation: ClusterSimulation, runs: Sequence[ControllerRun], pace: Pace) -> None:
        self._simulation, self._pace = simulation, pace
        self._entries: list[_TimelineEntry] = []
        self._numbers = 0
        self._watching: dict[int, list[Controller]] = defaultdict(list)
        self._runs: dict[int, ControllerRun] = {}
        self._woken: set[int] = set()
        self._busy: set[int] = set()
        self._again: set[int] = set()
        self._scheduling = False
        for run in runs:
            run.observe(simulation)
            self._runs.update(dict.fromkeys(run.pods, run))
            for controller in run.controllers:
                for pod in controller.watched:
                    self._watching[pod].append(controller)
        self._order, self._backlogs = list(runs), Backlog.of(simulation)
        for pod in simulation.starting:
            self._have_started(pod)
        for pod in simulation.proving:
            self._prove(pod)
        for pod in simulation.leaving:
            self._have_ended(pod)
        for pod, run in self._runs.items():
            if run.pods_end and simulation.ready[pod]:
                self._work(pod)
        self._wake_scheduler()

    def apply(self) -> None:
        """The controllers see what is wanted now, one workload after the other."""
        order, at = list(self._order), 0.0
        if self._pace.chance is not None:
            self._pace.chance.shuffle(order)
        for run in order:
            at += self._pace.apply()
            for controller in run.controllers:
                self._wake(controller, at)

    def run(self, most: int) -> bool:
        """Go on until nothing moves; False when so many things have happened and more would."""
        for _ in range(most):
            if not self._entries:
                return True
            entry = heapq.heappop(self._entries)
            self._simulation.now = entry.time
            entry.act()
            self._react()
        return False

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        self._numbers += 1
        heapq.heappush(self._entries, _TimelineEntry(self._simulation.now + seconds, self._numbers, act))

    def _react(self) -> None:
        """See to what has just happened."""
        happened, self._simulation.happened = self._simulation.happened, []
        for change, pod in happened:
            self._go_on_with(change, pod)
            if change is not PodChange.BOUND:
                self._wake_watching(pod)
            # Where a pod is gone, or stuck, its quota may have room for one that was refused.
            for refused in self._simulation.refusals if change in _GONE else ():
                self._wake_watching(refused)
            for backlog in self._backlogs if change in _GONE else ():
                self._wake(backlog, self._pace.retry(self._simulation.now))
            if change in {PodChange.MADE, *_GONE}:
                self._wake_scheduler()
            if change in {PodChange.LEAVING, PodChange.LOST} and pod in self._runs:
                self._runs[pod].observe(self._simulation)

    def _go_on_with(self, change: PodChange, pod: int) -> None:
        """What a kubelet does next with a pod."""
        match change:
            case PodChange.BOUND:
                self._have_started(pod)
            case PodChange.READY if pod in self._runs and self._runs[pod].pods_end:
                self._work(pod)
            case PodChange.READY if pod in self._simulation.proving:
                self._prove(pod)
            case PodChange.LEAVING:
                self._have_ended(self._simulation.doubles[pod])

    def _wake_watching(self, pod: int) -> None:
        for controller in self._watching.get(pod, ()):
            self._wake(controller)

    def _have_started(self, pod: int) -> None:
        """Have a pod that has a node become ready in time, unless it is gone or no kubelet starts it."""

        def start() -> None:
            if pod in self._simulation.starting:
                self._simulation.become_ready(pod)

        if not self._simulation.why_not_started(pod):
            self._after(self._pace.start(self._simulation.now), start)

    def _prove(self, pod: int) -> None:
        """Have a ready pod become available in time, unless it is gone by then."""
        until = self._simulation.proving[pod]

        def proved() -> None:
            if self._simulation.proving.get(pod) == until:
                self._simulation.become_available(pod)

        self._after(max(0.0, until - self._simulation.now), proved)

    def _work(self, pod: int) -> None:
        """Have a ready pod run to its end, unless it is gone by then."""
        this, wait = self._simulation.random_rank[pod], self._pace.work(self._simulation.now)

        def done() -> None:
            if self._simulation.ready[pod] and self._simulation.random_rank[pod] == this:
                self._simulation.succeed(pod)

        self._after(wait, done)

    def _have_ended(self, double: int) -> None:
        """Have a pod that was told to go end in time, or be stuck where nothing ends it."""
        simulation, pod = self._simulation, self._simulation.originals[double]

        def end() -> None:
            if double in simulation.leaving:
                simulation.end(double)

        why = simulation.problem.endings.why_not(pod)
        if why is None:
            self._after(self._pace.end(simulation.now), end)
        elif why.reason == "Finalizer":
            stop = partial(simulation.become_stuck, double, has_stopped=True)
            self._after(self._pace.end(simulation.now), stop)
        elif pod != double and (seconds := simulation.problem.endings.stuck_after(pod)) is not None:
            self._after(seconds, partial(simulation.become_stuck, double, has_stopped=False))

    def _wake(self, controller: Controller, later: float = 0.0) -> None:
        """Let a controller reconcile soon, if it is not about to anyway."""
        known = id(controller)
        if known in self._busy:
            self._again.add(known)
        elif known not in self._woken:
            self._woken.add(known)
            self._after(later + self._pace.reconcile(id(controller)), lambda: self._begin(controller))

    def _begin(self, controller: Controller) -> None:
        self._woken.discard(id(controller))
        self._busy.add(id(controller))
        self._go_on(controller, controller.reconcile(self._simulation))

    def _go_on(self, controller: Controller, writes: Iterator[Sequence[Controller]]) -> None:
        """The next write of a reconcile; after the last one the controller may be woken again."""
        concerned = next(writes, None)
        if concerned is not None:
            for other in concerned:
                self._wake(other)
            self._after(self._pace.write(id(controller)), lambda: self._go_on(controller, writes))
            return
        self._busy.discard(id(controller))
        if id(controller) in self._again:
            self._again.discard(id(controller))
            self._wake(controller)

    def _wake_scheduler(self) -> None:
        if not self._scheduling:
            self._scheduling = True
            self._after(self._pace.step(), self._schedule)

    def _schedule(self) -> None:
        """One pod; the next one a moment later, until no pod is left that it could help."""
        if self._simulation.schedule_one():
            self._after(self._pace.step(), self._schedule)
        else:
            self._scheduling = False
