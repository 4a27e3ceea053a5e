"""Nodes taken away one after the other, as autoscalers do: their pods go into the tightest gaps.

A node goes when each of its pods finds another node that all filters accept, and no hard constraint ends with
more pods too many.  What differs is the order in which nodes are tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.layout import Layout, Limits, read, shares
from planner.consolidate.removable import Removable
from planner.moves.constraint_counts import excesses
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Ints, Mask
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
        before: Layout | None = None,
    ) -> None:
        """Nodes go as far as the limits allow; those of `removed`, empty ones, are gone to begin with.

        Moves are counted from `before`, else from the state that the trial cluster has now.
        """
        self._trial = trial
        self._removable = removable
        self._meter = meter
        self._limits = limits
        self._detour: NDArray[np.float64] = np.zeros(len(removable.mask))
        self.removed: Mask = trial.problem.nodes.none.copy() if removed is None else removed.copy()
        self._before = read(trial, movable, self.removed) if before is None else before
        self._movers = movable
        self._movable = movable.weights > 0
        self._dear: NDArray[np.float64] = np.ones(len(removable.mask))
        self._hard = [found for found in trial.ledger.constraints if found.hard]
        self._most = excesses(self._hard)
        self._size: NDArray[np.float64] = shares(trial.problem)
        self._lost = self._lost_with(self.removed)

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

    def run_together(self, nodes: Sequence[int], *, scarce_first: bool) -> None:
        """Close nodes all at once, open again those without which a pod has no place, then go on as `run`.

        With `scarce_first` pods come first whose template needs most of the nodes that accept it.
        """
        self._detour = np.where(self._removable.mask, 2.0, 0.0)
        state, mark = self._trial.state, self._trial.state.mark()
        before = self.removed.copy()
        self.removed[[*nodes]] = True
        pods = [pod for node in nodes for pod in state.pods_on[node] if self._movable[pod]]
        for pod in pods:
            state.unbind(pod)
        ordered = self._largest_first(pods)
        if scarce_first:
            scarce = self._scarcity(pods)
            ordered.sort(key=lambda pod: -scarce[self._trial.template(pod)])
        if not self._find_places(ordered):
            state.rollback(mark)
            self.removed, self._lost = before, self._lost_with(before)

    def _find_places(self, pods: Iterable[int]) -> bool:
        """Whether all of some pods find places, nodes being opened for them; then further nodes go."""
        placed = all(self._place(pod) or self._place_on_opened(pod) for pod in pods)
        self._lost = self._lost_with(self.removed)
        if not (placed and self._is_no_worse() and self._are_few_moves()) or self._lacks_room():
            return False
        while self._once_through():
            pass
        return True

    def _scarcity(self, pods: Sequence[int]) -> dict[int, float]:
        """For every template how many of its pods come to a node that could accept them, on average."""
        number = Counter(self._trial.template(pod) for pod in pods)
        return {
            template: pods / max(1, int(self._trial.ever_open(template).sum()))
            for template, pods in number.items()
        }

    def _place_on_opened(self, pod: int) -> bool:
        """Open the cheapest of the closed nodes that accept a pod, and bind it there."""
        trial = self._trial
        nodes = np.flatnonzero(trial.open_to(trial.template(pod)) & self.removed)
        if not nodes.size or self._meter.over():
            return False
        node = int(nodes[np.argmin(self._removable.prices[nodes] * self._dear[nodes])])
        self.removed[node] = False
        trial.state.bind(pod, node)
        return True

    def _lost_with(self, removed: Mask) -> Ints:
        reserve = self._limits.reserve
        return np.zeros(1, np.int64) if reserve is None else reserve.brings[:, removed].sum(axis=1)

    def _lacks_room(self) -> bool:
        reserve = self._limits.reserve
        return reserve is not None and bool((self._lost > reserve.spare).any())

    def _once_through(self) -> bool:
        """Whether any node went; every node is tried, as one that goes changes what the others hold."""
        return any([self.take_away(node) for node in self._emptiest()])

    def _emptiest(self) -> Iterator[int]:
        """Every node that may go, the emptiest next, until the work is done; meanwhile nodes only fill."""
        nodes = np.flatnonzero(self._removable.mask & ~self.removed)
        emptiest = [*zip(self._filled(nodes).tolist(), nodes.tolist(), strict=True)]
        heapify(emptiest)
        while emptiest and not self._meter.over():
            before, node = emptiest[0]
            now = float(self._filled(node))
            if now > before:
                heapreplace(emptiest, (now, node))
            else:
                yield heappop(emptiest)[1]

    def _filled(self, nodes: Codes | int) -> NDArray[np.float64]:
        """The share of nodes that is requested, of the resource of which it is the largest."""
        room = np.maximum(self._trial.problem.allocatable[:, nodes], 1)
        return np.asarray((self._trial.state.used[:, nodes] / room).max(axis=0))

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
        if most is None:
            return True
        return read(self._trial, self._movers, self.removed).moves(self._before) <= most
