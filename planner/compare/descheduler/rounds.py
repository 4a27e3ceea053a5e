"""Descheduler round by round, with controllers and kube-scheduler in between.

What is evicted is made again by its controller and waits for a node; kube-scheduler places it, the highest
priority first, preempting where it is on.  Pods that are Pending are tried again in every round.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner.compare.descheduler.eviction_round import Descheduler
from planner.documents.columns import Ending
from planner.eviction.budgets import Budgets
from planner.eviction.controllers import Controllers
from planner.eviction.protections import Protections
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler

#: Rounds after which it is not waited any longer for Descheduler to come to rest.
MOST_ROUNDS = 6
#: How often a round's pods are offered to the scheduler: pods can evict each other, or wait for each other.
_MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class Descheduled:
    """The pods that were evicted in every round, how it ended, and where pods are then."""

    rounds: tuple[tuple[int, ...], ...]
    ending: Ending
    node_of: Codes
    waiting: tuple[int, ...]
    """Pods that wait for a node in the end, those that waited at the start included."""
    preempted: int


def descheduled(
    problem: Problem, protections: Protections, *, seed: int | None = None, most_rounds: int = MOST_ROUNDS
) -> Descheduled:
    """What Descheduler and kube-scheduler make of a cluster; equal choices are drawn with a seed.

    Pods that wait are scheduled before the first round.
    """
    budgets = Budgets(problem)
    descheduler = Descheduler(problem, protections, budgets, seed)
    cluster = _Cluster(problem, seed)
    cluster.replace(())
    rounds: list[tuple[int, ...]] = []
    seen, circles = {cluster.placement()}, False
    while True:
        evicted = descheduler.evictions(cluster.scheduler.state)
        if not evicted or len(rounds) == most_rounds:
            break
        rounds.append(tuple(evicted))
        descheduler.evictable.came_again(evicted)
        cluster.replace(evicted)
        circles |= cluster.placement() in seen
        seen.add(cluster.placement())
    ending: Ending = "AtRest" if not evicted else "Circles" if circles else "Evicting"
    state = cluster.scheduler.state
    return Descheduled(tuple(rounds), ending, state.node_of.copy(), tuple(cluster.waiting), cluster.preempted)


class _Cluster:
    """The pods that are there, and the scheduler that places those that wait."""

    def __init__(self, problem: Problem, seed: int | None) -> None:
        self._problem = problem
        self._controllers = Controllers(problem, jobs=True)
        self.scheduler = Scheduler(problem, seed=seed)
        self.waiting = [pod for pod in self.scheduler.queue if not problem.pods[pod].spec.scheduling_gates]
        self.preempted = 0

    def _is_known(self, pod: int) -> bool:
        """Whether its scheduler is one of those here; to others an evicted pod is left, and waits."""
        return self._problem.pods[pod].spec.scheduler_name in self.scheduler.schedulers

    def placement(self) -> bytes:
        """How many pods of which template are on which node: pods of a template are alike."""
        node_of, size = self.scheduler.state.node_of, self._problem.nodes.size + 1
        return np.sort(self._problem.template_of * size + node_of + 1).tobytes()

    def replace(self, pods: Iterable[int]) -> None:
        """Pods go, are made again, and are scheduled."""
        for pod in pods:
            self.scheduler.state.unbind(pod)
            self._make_again(pod)
        for _ in range(_MOST_TRIES):
            if not self._try_all():
                return

    def _make_again(self, pod: int) -> None:
        if self._controllers.is_made_again(pod):
            self.waiting.append(pod)

    def _try_all(self) -> bool:
        """Try all pods that wait once; whether another try may do more."""
        known = filter(self._is_known, self.waiting)
        trying = sorted(known, key=lambda pod: -self._problem.pods[pod].priority)
        self.waiting = [pod for pod in self.waiting if not self._is_known(pod)]
        bound = 0
        for pod in trying:
            decision = self.scheduler.decide(pod)
            self.scheduler.state.forget_history()
            self.preempted += len(decision.victims)
            for victim in decision.victims:
                self._make_again(victim)
            if decision.node is None:
                self.waiting.append(pod)
            else:
                bound += 1
        return bool(bound and self.waiting)
