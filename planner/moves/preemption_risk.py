"""Whether a replacement that finds no open node may make room for itself: kube-scheduler preempts then.

A replacement is tried as soon as its controller has made it, while the old pod still ends.  Where no node is
open to it at that moment, DefaultPreemption evicts pods of lower priority from any node that this opens.  A
pin or a cordon keeps it off the nodes that it may not land on: evictions do not help there.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Mask
from planner.proof import effort


class PreemptionRisk:
    """Answers for templates on a board, as pods are placed there now."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self._possible: dict[int, bool] = {}

    def is_possible(self, template: int) -> bool:
        """Whether a pod of a template may preempt any pod that has a node, wherever that is."""
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
        """Whether a pod of a template for which no node is open now would open one by preemption.

        It may be pinned to some nodes, or kept off cordoned ones.  All pods of lower priority on a node are
        taken away, those on their way out with them: kube-scheduler asks no more.
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
        """Whether a node takes the pod without the pods of lower priority that it holds."""
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
