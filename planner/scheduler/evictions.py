"""What evictions on one node achieve for a pod, and what they cost.

Kubernetes 1.34: all pods of lower priority are taken away; if the pod fits then, they are put back one
by one, the most important first and those whose disruption budget would be broken before the others,
as long as the pod still fits.  The pods that stay out are the victims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np

from models.objects.base import FAR_AHEAD, LONG_AGO
from models.objects.pod import Pod
from planner.eviction.budgets import CoveringBudgets, allowance, draws_on
from planner.problem.nodes import Ints
from planner.problem.problem import Problem
from planner.scheduler.framework import Framework, Plan
from planner.scheduler.nominations import Nominations
from planner.state.state import State

#: Beyond this share of changed nodes everything is added up anew.
_ANEW_SHARE = 4


def started(pod: Pod) -> datetime:
    """Since when a pod has run; one that has not begun comes after all that have."""
    return pod.status.start_time or FAR_AHEAD


class Importance:
    """The importance of pods: by priority, then by how long they have run; small ranks matter more."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def rank(self, pod: int) -> tuple[int, datetime]:
        """What pods are sorted by; the same for equals."""
        return -self.priorities[pod], started(self._problem.pods[pod])

    @cached_property
    def priorities(self) -> list[int]:
        """The priority of every pod, as plain numbers."""
        found: list[int] = self._problem.priorities.tolist()
        return found


class LowerPriorityPods:
    """The pods below one priority, kept current against the state's log of changed nodes."""

    def __init__(self, state: State, importance: Importance, priority: int) -> None:
        self._state = state
        self._importance = importance
        self._priority = priority
        self._epoch, self._position = -1, 0
        self._any = bool((state.problem.priorities < priority).any())
        #: How many of them every node holds, and what they request there: a row for every resource.
        self._pods: Ints = np.zeros(state.problem.nodes.size, np.int64)
        self._load: Ints = np.zeros_like(state.used)

    def on(self, node: int) -> list[int]:
        """Those on a node, the most important first; equals in the order in which they came."""
        priorities = self._importance.priorities
        there = [pod for pod in self._state.pods_on[node] if priorities[pod] < self._priority]
        return sorted(there, key=self._importance.rank)

    def current(self) -> tuple[Ints, Ints]:
        """How many every node holds, and their load, now; the arrays are live, do not keep them."""
        state = self._state
        if not self._any:
            return self._pods, self._load
        changed = set(state.log[self._position :]) if self._epoch == state.epoch else None
        if changed is None or len(changed) * _ANEW_SHARE > len(self._pods):
            self._add_up()
        else:
            for node in changed:
                self._look_again(node)
        self._epoch, self._position = state.epoch, len(state.log)
        return self._pods, self._load

    def _add_up(self) -> None:
        state = self._state
        pods = np.flatnonzero((state.node_of >= 0) & (state.problem.priorities < self._priority))
        self._pods = np.bincount(state.node_of[pods], minlength=len(self._pods))
        self._load = state.load_of(pods)

    def _look_again(self, node: int) -> None:
        there = self.on(node)
        self._pods[node] = len(there)
        self._load[:, node] = sum(
            (self._state.problem.template(pod).requests for pod in there), np.zeros(len(self._load), np.int64)
        )


NO_VICTIMS = "No preemption victims found for incoming pod"
_PRIORITY_SHIFT = 1 << 31

#: What costs least is chosen: kube's criteria in their order, then how many pods are still to be evicted.
Cost = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that evictions would open, and what they would cost; victims most important first."""

    node: int
    victims: tuple[int, ...]
    broken_budgets: int
    cost: Cost


class Evictions:
    """Evictions tried out on one node, then undone."""

    def __init__(self, framework: Framework, nominations: Nominations) -> None:
        self._framework = framework
        self._problem = framework.problem
        self._state = framework.state
        self._nominations = nominations
        self._importance = Importance(framework.problem)
        self._lower: dict[int, LowerPriorityPods] = {}
        self._budgets = framework.problem.cluster.pod_disruption_budgets
        self._budgets_known: dict[int, tuple[int, ...]] = {}
        self._covering = CoveringBudgets(framework.problem)

    def lower_priority_pods(self, priority: int) -> LowerPriorityPods:
        found = self._lower.get(priority)
        if found is None:
            found = self._lower[priority] = LowerPriorityPods(self._state, self._importance, priority)
        return found

    def try_on(self, plan: Plan, pod: int, node: int) -> Candidate | tuple[str, ...]:
        """The fewest evictions that open one node, or the reasons why none do: all filters are asked."""
        lower = self.lower_priority_pods(plan.template.priority).on(node)
        if not lower:
            return (NO_VICTIMS,)
        mark = self._state.mark()
        for other in lower:
            self._state.unbind(other)
        refused = self._nominations.rejection(self._framework, plan, pod, node)
        found: Candidate | tuple[str, ...]
        if refused is not None:
            found = refused.verdict.reasons
        else:
            found = self.fewest(node, lower, lambda other: self._put_back(plan, pod, other, node))
        self._state.rollback(mark)
        return found

    def fewest(self, node: int, lower: Sequence[int], may_stay: Callable[[int], bool]) -> Candidate:
        """The pods that have to go when all that may stay do, those with a breaking budget tried first."""
        breaking, others = self._by_budget(lower)
        broken = [other for other in breaking if not may_stay(other)]
        victims = broken + [other for other in others if not may_stay(other)]
        return self.candidate(node, sorted(victims, key=self._importance.rank), len(broken))

    def candidate(self, node: int, victims: Sequence[int], broken_budgets: int) -> Candidate:
        """A node with the pods to evict there, the most important first, and how many budgets that breaks."""
        return Candidate(node, tuple(victims), broken_budgets, self._cost(victims, broken_budgets))

    def _put_back(self, plan: Plan, pod: int, other: int, node: int) -> bool:
        """Let a pod stay if the preemptor fits beside it."""
        mark = self._state.mark()
        self._state.bind(other, node)
        if self._nominations.fits(self._framework, plan, pod, node):
            return True
        self._state.rollback(mark)
        return False

    def _by_budget(self, pods: Iterable[int]) -> tuple[list[int], list[int]]:
        """The pods whose eviction would break a budget, counting one after the other, and the rest."""
        left = [allowance(budget) for budget in self._budgets]
        breaking: list[int] = []
        others: list[int] = []
        for number in pods:
            broken = False
            for position in self.budgets_of(number):
                left[position] -= 1
                broken = broken or left[position] < 0
            (breaking if broken else others).append(number)
        return breaking, others

    def budgets_of(self, number: int) -> tuple[int, ...]:
        found = self._budgets_known.get(number)
        if found is None:
            pod = self._problem.pods[number]
            found = self._budgets_known[number] = tuple(
                position for position in self._covering.of(number) if draws_on(self._budgets[position], pod)
            )
        return found

    def _cost(self, victims: Sequence[int], broken_budgets: int) -> Cost:
        """kube's criteria; victims have the most important first, of equals the longest running."""
        pods = self._problem.pods
        priorities = [self._importance.priorities[victim] for victim in victims]
        return (
            broken_budgets,
            priorities[0],
            sum(priority + _PRIORITY_SHIFT for priority in priorities),
            len(priorities),
            -(started(pods[victims[0]]) - LONG_AGO).total_seconds(),
            sum(not pods[victim].is_terminating for victim in victims),
        )
