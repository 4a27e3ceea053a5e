"""What PodDisruptionBudgets allow while pods go and come back.

The disruption controller's count at the snapshot is the start; from then on a budget has one pod less
for every ready pod of it that is evicted or preempted, and one more for every one that becomes ready.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.eviction.budgets import Budgets
from planner.problem.problem import Problem
from planner.simulation.rollout.cluster_simulation import ClusterSimulation

#: What the eviction API answers.
_TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget."
_TWO = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class Allowances:
    """The budgets over some pods, kept current."""

    def __init__(self, problem: Problem, pods: Iterable[int]) -> None:
        self._budgets = Budgets(problem)
        self._left = [self._at_first(number) for number in range(len(self._budgets.budgets))]
        self._of = {pod: self._budgets.of(pod) for pod in pods}

    def _at_first(self, number: int) -> int:
        """What is left of a budget; less than nothing where fewer are healthy than should be."""
        status, budgets = self._budgets.budgets[number].status, self._budgets
        if status is not None and status.expected_pods == 0:
            return budgets.allowed[number]
        return min(budgets.allowed[number], budgets.spare(number))

    def refusal(self, simulation: ClusterSimulation, pod: int) -> str:
        """Why the eviction API refuses the pod now; empty when it does not."""
        covering = self._of[pod]
        if not covering or self._is_pending(simulation, pod):
            return ""
        if len(covering) > 1:
            return _TWO
        left = self._left[covering[0]]
        if left > 0 or not (simulation.ready[pod] or self._keeps_unhealthy(covering[0], left)):
            return ""
        return f"{_TOO_MANY} {self._needs(covering[0], left)}"

    @staticmethod
    def _is_pending(simulation: ClusterSimulation, pod: int) -> bool:
        """Whether the pod has no node, or has not started on the one that it was bound to."""
        bound = int(simulation.scheduler.state.node_of[pod]) >= 0
        return not bound or (simulation.problem.pods[pod].is_starting and not simulation.ready[pod])

    def _keeps_unhealthy(self, number: int, left: int) -> bool:
        """Whether a budget with nothing left refuses also a pod that runs and is not ready."""
        if self._budgets.budgets[number].spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
            return False
        return left < 0 or self._budgets.desired(number) == 0

    def _needs(self, number: int, left: int) -> str:
        """The cause that the eviction API names."""
        budget = self._budgets.budgets[number]
        status = budget.status
        if status is None or status.expected_pods == 0:
            return f"The disruption budget {budget.name} allows none now."
        wanted = status.desired_healthy
        there = wanted + left
        return f"The disruption budget {budget.name} needs {wanted} healthy pods and has {there} currently"

    def lose(self, pod: int) -> None:
        """A ready pod was evicted or preempted."""
        for number in self._of.get(pod, ()):
            self._left[number] -= 1

    def regain(self, pod: int) -> None:
        for number in self._of.get(pod, ()):
            if not self._budgets.budgets[number].spec.asks_nothing:
                self._left[number] += 1
