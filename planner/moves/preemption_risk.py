"""Whether a replacement that finds no feasible node may preempt pods of lower priority.

A replacement is scheduled as soon as its controller has made it, while the old pod may still be terminating.
Where no node is feasible at that moment, DefaultPreemption evicts pods of lower priority from a node that
becomes feasible by it.  A pin or a cordon excludes the other nodes: evictions do not make those feasible.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Mask
from planner.proof import effort


class PreemptionRisk:
    """Decides for templates whether their pods could preempt in the current state of a trial cluster."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self._possible: dict[int, bool] = {}

    def is_possible(self, template: int) -> bool:
        """Whether the cluster has any pod that a pod of this template may preempt."""
        found = self._possible.get(template)
        if found is None:
            asked = self._trial.problem.templates[template]
            found = self._possible[template] = (
                asked.pod.spec.preemption_policy != "Never"
                and self._trial.framework(template).profile.preemption is not None
                and bool((self._trial.problem.priorities < asked.priority).any())
            )
        return found

    def threatens(self, template: int, pinned: Mask | None = None, *, cordoned: Collection[int] = ()) -> bool:
        """Whether preemption could make a node feasible for a pod of a template that has none now.

        It may be pinned to some nodes, or kept off cordoned ones.  All pods of lower priority on a node are
        taken away, terminating ones included, as kube-scheduler does when it looks for candidate nodes.
        """
        if not self.is_possible(template):
            return False
        mask = self._trial.plan(template).static if pinned is None else pinned
        nodes = self._with_lower(template, mask)
        nodes = nodes[~np.isin(nodes, [*cordoned])]
        return len(nodes) > effort.PREEMPTION_TRIALS or any(
            self._opens(template, node, pinned) for node in nodes.tolist()
        )

    def _with_lower(self, template: int, mask: Mask) -> Codes:
        """The nodes of a mask that hold pods of a lower priority."""
        problem, node_of = self._trial.problem, self._trial.state.node_of
        lower = problem.priorities < problem.templates[template].priority
        found: Codes = np.unique(node_of[lower & (node_of >= 0)])
        return found[mask[found]]

    def _opens(self, template: int, node: int, pinned: Mask | None) -> bool:
        """Whether a node would be feasible for the pod without the pods of lower priority on it."""
        state, priorities = self._trial.state, self._trial.problem.priorities
        own = self._trial.problem.templates[template].priority
        mark = state.mark()
        for pod in [pod for pod in state.pods_on[node] if priorities[pod] < own]:
            state.unbind(pod)
        if pinned is None:
            opened = self._trial.accepts(template, node)
        else:
            opened = bool(self._trial.open_pinned(template, pinned)[node])
        state.rollback(mark)
        return opened
