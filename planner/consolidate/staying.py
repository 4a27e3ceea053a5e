"""Pods of a layout brought back to where they run, one after the other: fewer moves with the same nodes.

A pod comes back where its node has room, or where one leaves that came there: that one moves in any case.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.consolidate.greedy import NodeRemoval
from planner.moves.constraint_counts import excesses, worse
from planner.problem.nodes import Codes
from planner.proof import consolidation_effort as effort


class Staying(NodeRemoval):
    """Brings pods back on a trial cluster that has a layout; its state follows."""

    def bring_back(self) -> None:
        """Try all pods that could stay on a kept node, again and again while any comes back."""
        while any([self._comes_back(template, node) for template, node in self._away()]):
            self._trial.state.forget_history()

    def _away(self) -> Iterator[tuple[int, int]]:
        """Templates and kept nodes where fewer pods of them are than before."""
        missing = self._before.counts.more_than(self._task.read(self.removed).counts)
        for template, node, _ in missing.where(~self.removed).sites():
            if not self._meter.over():
                yield template, node

    def _moved_in(self, template: int) -> Codes:
        """The pods of a template on nodes where more of them are than before."""
        pods = self._movable.of(template)
        nodes = self._trial.state.node_of[pods]
        now = np.bincount(nodes, minlength=len(self.removed))
        found: Codes = pods[(now > self._before.counts.row(template))[nodes]]
        return found

    def _comes_back(self, template: int, node: int) -> bool:
        """Whether a pod of a template came back to a node; else nothing has changed."""
        state = self._trial.state
        for pod in self._moved_in(template)[: effort.PODS_BROUGHT_BACK].tolist():
            mark = state.mark()
            before = excesses(self._trial.ledger.hard_of((template,)))
            state.unbind(pod)
            if self._trial.accepts(template, node):
                state.bind(pod, node)
                if not worse(before, self._trial.ledger.hard_of((template,))):
                    return True
            state.rollback(mark)
            if any(self._changes_places(pod, other, node) for other in self._came_to(node)):
                return True
        return False

    def _came_to(self, node: int) -> list[int]:
        """Some pods of a node that were elsewhere before, the largest first."""
        on = self._task.movable_on(node)
        templates = {self._trial.template(pod) for pod in on}
        came = {pod for template in templates for pod in self._moved_in(template).tolist()}
        return self._largest_first([pod for pod in on if pod in came])[: effort.PODS_BROUGHT_BACK]

    def _changes_places(self, pod: int, other: int, node: int) -> bool:
        """Whether a pod came to a node that another one left for any place; else nothing has changed."""
        trial, mark = self._trial, self._trial.state.mark()
        constraints = trial.ledger.hard_of((trial.template(pod), trial.template(other)))
        before = excesses(constraints)
        trial.state.unbind(pod)
        trial.state.unbind(other)
        if trial.accepts(trial.template(pod), node):
            trial.state.bind(pod, node)
            if self._place(other) and trial.state.node_of[other] != node and not worse(before, constraints):
                return True
        trial.state.rollback(mark)
        return False
