"""Nodes taken away one after the other, as autoscalers do: their pods go into the tightest gaps.

A node goes when each of its pods finds another node that all filters accept, and no hard constraint ends with
more pods too many.  What differs is the order in which nodes are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from planner.consolidate.layout import shares
from planner.consolidate.removable import Removable
from planner.moves.constraint_counts import excesses
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from numpy.typing import NDArray

from planner.problem.nodes import Ints, Mask
from planner.proof.meter import Meter


class NodeRemoval:
    """Takes nodes away on a trial cluster, whose state follows."""

    def __init__(
        self, trial: TrialCluster, movable: Movable, removable: Removable, spare: Ints, meter: Meter
    ) -> None:
        """`spare`: by resource, how much of all that is free may go with nodes."""
        self._trial = trial
        self._removable = removable
        self._meter = meter
        self._spare = spare.copy()
        self._movable = movable.weights > 0
        self._hard = [found for found in trial.ledger.constraints if found.hard]
        self._most = excesses(self._hard)
        self._size: NDArray[np.float64] = shares(trial.problem)
        self.quotas = None
        self._counts = {}
        self.removed: Mask = trial.problem.nodes.none.copy()

    def run(self, order: Iterable[int] = ()) -> None:
        """Try the nodes of an order, then the emptiest one again and again until none goes."""
        for node in order:
            if self._meter.over():
                return
            self.take_away(node)
        while any([self.take_away(node) for node in self._emptiest() if not self._meter.over()]):
            pass

    def _emptiest(self) -> Iterator[int]:
        left = self._removable.mask & ~self.removed
        while left.any():
            nodes = np.flatnonzero(left)
            used = self._trial.state.used[:, nodes]
            share = (used / np.maximum(self._trial.problem.allocatable[:, nodes], 1)).max(axis=0)
            node = int(nodes[np.argmin(share)])
            left[node] = False
            yield node

    def take_away(self, node: int) -> bool:
        """Whether every pod of a node found another one; else nothing has changed."""
        lost = self._trial.problem.allocatable[:, node]
        if self.removed[node] or (lost > self._spare).any():
            return False
        state, mark = self._trial.state, self._trial.state.mark()
        self.removed[node] = True
        pods = self._largest_first([pod for pod in state.pods_on[node] if self._movable[pod]])
        for pod in pods:
            state.unbind(pod)
        if all(self._place(pod) for pod in pods) and self._is_no_worse():
            self._spare -= lost
            return True
        state.rollback(mark)
        self.removed[node] = False
        return False

    def _largest_first(self, pods: Sequence[int]) -> list[int]:
        templates = self._trial.problem.template_of
        return sorted(pods, key=lambda pod: (-float(self._size[templates[pod]]), int(templates[pod])))

    def _place(self, pod: int) -> bool:
        """Bind a pod to the node with the tightest gap for it, first of those that stay in any case."""
        trial = self._trial
        template = trial.template(pod)
        open_nodes = np.flatnonzero(trial.open_to(template) & ~self.removed)
        if not open_nodes.size:
            return False
        allocatable = trial.problem.allocatable[:, open_nodes]
        free = (allocatable - trial.state.used[:, open_nodes]) / np.maximum(allocatable, 1)
        # A share of CPU and one of memory are at most 2 together.
        gap = free[self._rows].sum(axis=0) + 2.0 * self._removable.mask[open_nodes]
        if self.quotas is not None:
            quotas, of = self.quotas
            counts = self._count(template)
            gap += 4.0 * (counts >= quotas[template])[of[open_nodes]] + 8.0 * self.doomed[open_nodes]
        trial.state.bind(pod, int(open_nodes[np.argmin(gap)]))
        return True

    @property
    def _rows(self) -> list[int]:
        """CPU and memory, which most pods ask for."""
        index = self._trial.problem.resource_index
        return [index["cpu"], index["memory"]]

    def _count(self, template):
        found = self._counts.get(template)
        quotas, of = self.quotas
        pods = self._trial.problem.pods_of(template)
        nodes = self._trial.state.node_of[pods]
        nodes = nodes[nodes >= 0]
        nodes = nodes[~self.doomed[nodes]]
        return np.bincount(of[nodes], minlength=quotas.shape[1])

    def _is_no_worse(self) -> bool:
        return all(found.excess() <= most for found, most in zip(self._hard, self._most, strict=True))
