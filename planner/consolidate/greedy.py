"""Nodes taken away one after the other, as autoscalers do: their pods go into the tightest gaps.

A node goes when each of its pods finds another node that all filters accept, and no hard constraint ends with
more pods too many.  What differs is the order in which nodes are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.layout import Limits, shares
from planner.consolidate.removable import Removable
from planner.moves.constraint_counts import excesses
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Mask
from planner.proof.meter import Meter


class NodeRemoval:
    """Takes nodes away on a trial cluster, whose state follows."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a removal is about
        self,
        trial: TrialCluster,
        movable: Movable,
        removable: Removable,
        limits: Limits,
        meter: Meter,
        removed: Mask | None = None,
    ) -> None:
        """Nodes go as far as the limits allow; those of `removed`, empty ones, are gone to begin with."""
        self._trial = trial
        self._removable = removable
        self._meter = meter
        self._limits = limits
        self._detour: NDArray[np.float64] = np.zeros(len(removable.mask))
        self._before = trial.state.node_of.copy()
        self._movable = movable.weights > 0
        self._hard = [found for found in trial.ledger.constraints if found.hard]
        self._most = excesses(self._hard)
        self._size: NDArray[np.float64] = shares(trial.problem)
        self.removed: Mask = trial.problem.nodes.none.copy() if removed is None else removed.copy()
        self._lost = np.zeros(len(trial.problem.allocatable), np.int64)
        if limits.reserve is not None:
            self._lost = limits.reserve.brings[:, self.removed].sum(axis=1)

    def run(self, order: Iterable[int] = (), *, fixed_first: bool = True) -> None:
        """Try the nodes of an order, then the emptiest one again and again until none goes.

        With `fixed_first` nodes that stay in any case are filled before others.
        """
        # A share of CPU and one of memory are at most 2 together.
        self._detour = np.where(self._removable.mask & fixed_first, 2.0, 0.0)
        for node in order:
            if self._meter.over():
                return
            self.take_away(node)
        while self._once_through():
            pass

    def _once_through(self) -> bool:
        """Whether any node went; every node is tried, as one that goes changes what the others hold."""
        gone = [self.take_away(node) for node in self._emptiest() if not self._meter.over()]
        return any(gone)

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
        reserve = self._limits.reserve
        lost = self._lost if reserve is None else self._lost + reserve.brings[:, node]
        if self.removed[node] or (reserve is not None and (lost > reserve.spare).any()):
            return False
        state, mark = self._trial.state, self._trial.state.mark()
        self.removed[node] = True
        pods = self._largest_first([pod for pod in state.pods_on[node] if self._movable[pod]])
        for pod in pods:
            state.unbind(pod)
        if all(self._place(pod) for pod in pods) and self._is_no_worse() and self._are_few_moves():
            self._lost = lost
            return True
        state.rollback(mark)
        self.removed[node] = False
        return False

    def _largest_first(self, pods: Sequence[int]) -> list[int]:
        templates = self._trial.problem.template_of
        return sorted(pods, key=lambda pod: (-float(self._size[templates[pod]]), int(templates[pod])))

    def _place(self, pod: int) -> bool:
        """Bind a pod to the node with the tightest gap for it."""
        trial = self._trial
        template = trial.template(pod)
        open_nodes = np.flatnonzero(trial.open_to(template) & ~self.removed)
        if not open_nodes.size:
            return False
        allocatable = trial.problem.allocatable[:, open_nodes]
        free = (allocatable - trial.state.used[:, open_nodes]) / np.maximum(allocatable, 1)
        gap = free[self._rows].sum(axis=0) + self._detour[open_nodes]
        trial.state.bind(pod, int(open_nodes[np.argmin(gap)]))
        return True

    @property
    def _rows(self) -> list[int]:
        """CPU and memory, which most pods ask for."""
        index = self._trial.problem.resource_index
        return [index["cpu"], index["memory"]]

    def _is_no_worse(self) -> bool:
        return all(found.excess() <= most for found, most in zip(self._hard, self._most, strict=True))

    def _are_few_moves(self) -> bool:
        most = self._limits.most_moves
        return most is None or int((self._trial.state.node_of != self._before).sum()) <= most
