"""The nodes that accept a pod but for room, and the room that is free on them.

The filters run once for all pods of a template that leave the same domains, and again when the counts that
they depend on have changed.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from planner.moves.interference import Interference
from planner.moves.trial_cluster import TrialCluster
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Codes, Ints, Mask


class AlternativeNodes:
    """The nodes open to a pod, by filters and by room."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self._reads = Interference(trial).reads
        self._open: ArrayCache[Mask] = ArrayCache(trial.problem.nodes.size)
        self._roomy: dict[bytes, Mask] = {}
        self._version = -1
        problem = trial.problem
        #: For every template what has to be free for it, and what it leaves free when it goes.
        self.wants: Ints = np.array([self._wanted(t) for t in range(len(problem.templates))], np.int64)
        self.leaves: Ints = np.array([template.requests for template in problem.templates], np.int64)
        scale = 1.0 / np.maximum(problem.allocatable.max(axis=1), 1)
        #: How large the pods of every template are, by what they need most of.
        self.size = (self.wants * scale).max(axis=1)

    def _wanted(self, template: int) -> Ints:
        wanted = np.zeros(len(self._trial.problem.resources), np.int64)
        for row, amount in self._trial.wants(template):
            wanted[row] = amount
        return wanted

    def open_to(self, pod: int) -> Mask:
        """The nodes that all filters but the one for room accept once the pod has left its own node."""
        state, template = self._trial.state, self._trial.template(pod)
        source = int(state.node_of[pod])
        stamp = tuple([tally.version for tally in self._reads(template)])
        key: Hashable = template, int(self._trial.domains(template)[source]), stamp
        return self._open.get(key, lambda: self._asked(pod, template))

    def _asked(self, pod: int, template: int) -> Mask:
        state, plan = self._trial.state, self._trial.plan(template)
        mark, mask = state.mark(), plan.static.copy()
        state.unbind(pod)
        for plugin in plan.changing:
            if plugin.wants(plan.template) is None:
                mask &= plugin.reject(plan.template) == 0
        state.rollback(mark)
        return mask

    def free(self) -> Ints:
        """What is free on every node; a row for every resource."""
        return self._trial.problem.allocatable - self._trial.state.used

    def roomy(self, template: int) -> Mask:
        """The nodes with room for a pod of a template now."""
        if self._version != self._trial.state.version:
            self._roomy.clear()
            self._version = self._trial.state.version
        key = self.wants[template].tobytes()
        found = self._roomy.get(key)
        if found is None:
            self._roomy[key] = found = np.all(self.spare(template, self.free()) >= 0, axis=0)
        return found

    def gaps(self) -> tuple[Codes, Mask]:
        """The nodes that may have room for a pod of some template, and per template which of them have."""
        free = np.maximum(self.free(), 0)
        nodes = np.flatnonzero((free >= self.wants.min(axis=0)[:, np.newaxis]).all(axis=0))
        fits: Mask = np.ones((len(self.wants), len(nodes)), np.bool_)
        for row, amounts in enumerate(self.wants.T):
            if amounts.any():
                fits &= amounts[:, np.newaxis] <= free[row, nodes]
        return nodes, fits

    def spare(self, template: int, free: Ints) -> Ints:
        """What would be left of free amounts, for the resources that a template requests."""
        asked = np.flatnonzero(self.wants[template])
        spare: Ints = free[asked] - self.wants[template][asked, np.newaxis]
        return spare
