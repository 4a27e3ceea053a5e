"""What each way makes of the cluster: kube-scheduler again and again, Descheduler, `solve`, `rebalance`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models.words import are, counted
from planner.compare.descheduler import Descheduled, descheduled
from planner.documents.columns import ColumnName
from planner.documents.move_plan import MovePlan
from planner.documents.plan import PlacementPlan
from planner.eviction.protections import protections_of
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.proof.clock import Clock, Progress, looking_for
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
            f"{counted(played, 'replay')}, {'each ' * (played > 1)}looking at {looked_at} feasible nodes of "
            f"{size} for a pod, as kube-scheduler does"
            + (f": {several} not always on the same node" if played > 1 else "")
        )

    def _run(self, seed: int | None) -> Codes:
        scheduler = Scheduler(self._problem, preemption=False, seed=seed)
        total = len(self.queue) * (self._replays + 1)
        for _ in scheduler.run():
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, total)
        return scheduler.state.node_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where all pods are in the end, and what was evicted on the way there."""

    name: ColumnName
    node_of: Codes
    seed: int | None = None
    #: The pods that every round or wave evicted.
    rounds: tuple[tuple[int, ...], ...] = ()
    #: Pods that were evicted, and that no controller makes again.
    lost: int = 0
    descheduled: Descheduled | None = None
    plan: PlacementPlan | MovePlan | None = None

    @property
    def evictions(self) -> int:
        """The pods that all rounds or waves evicted."""
        return sum(map(len, self.rounds))


def by_kube_scheduler(by_name: Codes, drawn: Mapping[int, Codes]) -> list[Outcome]:
    """The run without draws, and those with them."""
    draws = [Outcome("kubeScheduler", node_of, seed) for seed, node_of in drawn.items()]
    return [Outcome("kubeScheduler", by_name), *draws]


def by_descheduler(problem: Problem, replays: int, clock: Clock) -> list[Outcome]:
    """Descheduler with ties going by the name, and as many draws as there is time for, at least one."""
    found: list[Outcome] = []
    for seed in (None, *range(1, replays + 1)):
        if len(found) > 1 and clock.over():
            break
        looking_for(f"what Descheduler evicts ({len(found)} of {replays + 1} runs)")
        found.append(_descheduled(problem, seed))
    return found


def _descheduled(problem: Problem, seed: int | None) -> Outcome:
    found = descheduled(problem, protections_of(problem.cluster), seed=seed)
    gone = (problem.node_of >= 0) & (found.node_of < 0)
    gone[[*found.waiting]] = False
    return Outcome("descheduler", found.node_of, seed, found.rounds, int(gone.sum()), found)


def by_solve(problem: Problem, found: PlacementPlan) -> Outcome:
    node_of = problem.node_of.copy()
    for step in found.steps:
        node_of[problem.pod_index[step.pod]] = -1 if step.node is None else problem.nodes.index[step.node]
    return Outcome("optimum", node_of, plan=found)


def by_rebalance(problem: Problem, found: MovePlan) -> Outcome:
    node_of, waves = problem.node_of.copy(), defaultdict[int, list[int]](list)
    for step in found.steps:
        pod = problem.pod_index[step.pod]
        node_of[pod] = problem.nodes.index[step.node]
        waves[step.wave].append(pod)
    return Outcome("optimum", node_of, rounds=tuple(map(tuple, waves.values())), plan=found)
