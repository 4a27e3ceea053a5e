"""Nodes taken away one after the other, as autoscalers do: their pods go into the tightest gaps.

A node goes when each of its pods finds another node that all filters accept, and no hard constraint ends with
more pods too many.  What differs is the order in which nodes are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.layout import SearchTask, filled, shares
from planner.moves.constraint_counts import excesses, worse
from planner.problem.nodes import Codes, Mask
from planner.proof.meter import Meter


class NodeRemoval:
    """Takes nodes away on a trial cluster, whose state follows."""

    def __init__(self, task: SearchTask, meter: Meter, removed: Mask) -> None:
        """Nodes go as far as the limits allow; those of `removed`, empty ones, are gone to begin with."""
        self._task = task
        self._trial = task.trial
        self._removable = task.removable
        self._limits = task.limits
        self._before = task.before
        self._movable = task.movable
        self._meter = meter
        self.removed: Mask = removed.copy()
        self._gap_penalty: NDArray[np.float64] = np.zeros(len(removed))
        self._price_factor: NDArray[np.float64] = np.ones(len(removed))
        self._hard = self._trial.ledger.hard
        self._most = excesses(self._hard)
        self._size: NDArray[np.float64] = shares(self._trial.problem)

    def run(self, order: Iterable[int] = (), *, fixed_first: bool = True) -> None:
        """Try the nodes of an order, then the emptiest one again and again until none goes.

        With `fixed_first` nodes that stay in any case are filled before others.
        """
        # A share of CPU and one of memory are at most 2 together.
        self._gap_penalty = np.where(self._removable.mask & fixed_first, 2.0, 0.0)
        for node in order:
            if self._meter.over():
                return
            self.take_away(node)
        self._empty_others()

    def run_together(self, nodes: Sequence[int]) -> None:
        """Close nodes all at once, open again those without which a pod has no place, then go on as `run`."""
        self._gap_penalty = np.where(self._removable.mask, 2.0, 0.0)
        mark, before = self._trial.state.mark(), self.removed.copy()
        self.removed[[*nodes]] = True
        pods = [pod for node in nodes for pod in self._task.movable_on(node)]
        for pod in pods:
            self._trial.state.unbind(pod)
        if self._find_places(self._largest_first(pods)):
            self._empty_others()
        else:
            self._trial.state.rollback(mark)
            self.removed = before

    def _find_places(self, pods: Iterable[int]) -> bool:
        """Whether all of some pods find places, nodes being opened for them, and these are allowed.

        That is, no constraint is worse, few enough pods have moved, and enough room is free.
        """
        if not all(self._place(pod) or self._place_on_opened(pod) for pod in pods):
            return False
        return self._is_no_worse() and self._are_few_moves() and not self._limits.lacks_room(self.removed)

    def _place_on_opened(self, pod: int) -> bool:
        """Open the cheapest of the closed nodes that accept a pod, and bind it there."""
        trial = self._trial
        nodes = np.flatnonzero(trial.open_to(trial.template(pod)) & self.removed)
        if not nodes.size or self._meter.over():
            return False
        node = int(nodes[np.argmin(self._removable.prices[nodes] * self._price_factor[nodes])])
        self.removed[node] = False
        trial.state.bind(pod, node)
        return True

    def _empty_others(self) -> None:
        """Try every node, again and again while any goes: that changes what the others hold."""
        while any([self.take_away(node) for node in self._emptiest()]):
            pass

    def _emptiest(self) -> Iterator[int]:
        """Every node that may go, the emptiest next, until the work is done; meanwhile nodes only fill."""
        nodes = np.flatnonzero(self._removable.mask & ~self.removed)
        emptiest = [*zip(map(self._filled, nodes.tolist()), nodes.tolist(), strict=True)]
        heapify(emptiest)
        while emptiest and not self._meter.over():
            before, node = emptiest[0]
            now = self._filled(node)
            if now > before:
                heapreplace(emptiest, (now, node))
            else:
                yield heappop(emptiest)[1]

    def _filled(self, node: int) -> float:
        """What makes a node harder to take away: its load, or where few may move, its pods for its price."""
        if self._limits.most_moves is None:
            return float(filled(self._trial.state, node))
        return len(self._task.movable_on(node)) / max(1, int(self._removable.prices[node]))

    def take_away(self, node: int) -> bool:
        """Whether every pod of a node found another one; else nothing has changed."""
        if self.removed[node]:
            return False
        self.removed[node] = True
        if not self._limits.lacks_room(self.removed):
            state, mark = self._trial.state, self._trial.state.mark()
            pods = self._largest_first(self._task.movable_on(node))
            for pod in pods:
                state.unbind(pod)
            if all(self._place(pod) for pod in pods) and self._is_no_worse() and self._are_few_moves():
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
        trial.state.bind(pod, int(open_nodes[np.argmin(self._gap(open_nodes))]))
        return True

    def _gap(self, nodes: Codes) -> NDArray[np.float64]:
        """How much is free on each of some nodes; more where a detour leads."""
        allocatable = self._trial.problem.allocatable[self._rows][:, nodes]
        free = (allocatable - self._trial.state.used[self._rows][:, nodes]) / np.maximum(allocatable, 1)
        return np.asarray(free.sum(axis=0) + self._gap_penalty[nodes])

    @property
    def _rows(self) -> list[int]:
        """CPU and memory, which most pods ask for."""
        index = self._trial.problem.resource_index
        return [index["cpu"], index["memory"]]

    def _is_no_worse(self) -> bool:
        return not worse(self._most, self._hard)

    def _are_few_moves(self) -> bool:
        most = self._limits.most_moves
        return most is None or self._task.read(self.removed).moves(self._before) <= most
