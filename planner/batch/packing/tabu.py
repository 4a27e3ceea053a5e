"""Packing by repair: every pod has a place, nodes carry too much, and single moves and swaps repair that.

A tabu search.  Each iteration looks at one overloaded node: at every pod there going to every other node, and
changing places with every other pod, those left outside included.  The best of these that was not undone a
moment ago is made.  Staying on the current node is worth a little.

Pods are inserted one pod after the other, the highest priority first; or, once it is known how many have a
place, all of them at once with as many as possible where they run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.batch.packing.vectors import Floats, Units, Vectors
from planner.problem.nodes import Codes, Mask
from planner.proof.effort import PRICE_OF_NUMBER, PRICE_OF_TURN, TabuEffort
from planner.proof.meter import Meter

#: A change that is out of the question.
_NEVER = 1e9


class Tabu:
    """Where each pod is, the node after the last standing for outside, and the load of every node."""

    def __init__(
        self, vectors: Units, at: Codes, seed: int, effort: TabuEffort, stay: float | None = None
    ) -> None:
        self._v = vectors
        self._effort = effort
        self._stay = effort.stay if stay is None else stay
        self._random = np.random.default_rng(seed)
        outside = np.full((1, vectors.wanted.shape[1]), np.inf)
        self._free: Floats = np.vstack([vectors.free, outside])
        self.reset(at)
        self._until = np.zeros((vectors.pods, vectors.nodes + 1), np.int64)
        self._turn = 0
        # An iteration looks at one node's pods, each going to every node or changing places with every pod.
        looks = (vectors.nodes + vectors.pods) * vectors.wanted.size / max(1, vectors.nodes)
        self._price = PRICE_OF_TURN + PRICE_OF_NUMBER * looks

    def reset(self, at: Codes) -> None:
        """Put every pod where it is to be."""
        self.at = at.copy()
        self._load: Floats = np.zeros_like(self._free)
        np.add.at(self._load, self.at, self._v.wanted)

    def move(self, pod: int, node: int) -> None:
        """Put a pod elsewhere, whether there is room or not."""
        self._load[self.at[pod]] -= self._v.wanted[pod]
        self._load[node] += self._v.wanted[pod]
        self.at[pod] = node

    def insert(self, pod: int) -> bool:
        """Put a pod where it overloads the least; False when it may go nowhere."""
        over = self._over(self._load[:-1] + self._v.wanted[pod], self._free[:-1])
        over[~self._v.allowed[self._v.of[pod]]] = _NEVER
        node = int(over.argmin())
        if over[node] >= _NEVER:
            return False
        self.move(pod, node)
        return True

    def fits(self, pod: int, node: int) -> bool:
        return bool((self._load[node] + self._v.wanted[pod] <= self._free[node]).all())

    def repair(self, iterations: int, meter: Meter) -> bool:
        """Whether no node is overloaded any more, after so many iterations at most."""
        best = np.inf
        for _ in range(iterations):
            over = self._over(self._load, self._free)
            total = float(over.sum())
            if total == 0.0:
                return True
            if meter.over():
                return False
            best = min(best, total)
            self._turn += 1
            meter.spend(self._price)
            self._repair_node(int(self._random.choice(np.flatnonzero(over > 0))), over, best - total)
        return not self._over(self._load, self._free).any()

    def _over(self, load: Floats, free: Floats) -> Floats:
        """By how much loads exceed what is free, all resources together, in units of a mean node."""
        over: Floats = (np.maximum(load - free, 0) / self._v.unit).sum(axis=-1)
        return over

    def _repair_node(self, node: int, over: Floats, needed: float) -> None:
        """Make the best change at an overloaded node; a forbidden one only if it sets a new record."""
        mine = np.flatnonzero(self.at == node)
        others = np.flatnonzero(self.at != node)
        moves = self._moves(node, mine, over, needed)
        swaps = self._swaps(node, mine, others, over, needed)
        move, swap = int(moves.argmin()), int(swaps.argmin()) if swaps.size else 0
        if swaps.size and swaps.flat[swap] < moves.flat[move]:
            if swaps.flat[swap] < _NEVER:
                first, second = int(mine[swap // len(others)]), int(others[swap % len(others)])
                there = int(self.at[second])
                self._leave(first, there)
                self._leave(second, node)
        elif moves.flat[move] < _NEVER:
            self._leave(int(mine[move // self._v.nodes]), move % self._v.nodes)

    def _leave(self, pod: int, node: int) -> None:
        """Move a pod, and keep it from coming back for a while."""
        self._until[pod, self.at[pod]] = (
            self._turn + self._effort.tenure + int(self._random.integers(2 * self._effort.tenure))
        )
        self.move(pod, node)

    def _moves(self, node: int, mine: Codes, over: Floats, needed: float) -> Floats:
        """What every pod of a node going to every node would change."""
        v, load, free = self._v, self._load, self._free
        wanted = v.wanted[mine]
        without = self._over(load[node] - wanted, free[node])
        within = self._over(load[:-1] + wanted[:, np.newaxis], free[:-1])
        change = without[:, np.newaxis] + within - over[node] - over[:-1]
        current = v.current[mine][:, np.newaxis]
        change += self._stay * ((current == node) * 1.0 - (current == np.arange(v.nodes)))
        barred = (self._until[mine, :-1] > self._turn) & (change >= needed)
        change[barred | ~v.allowed[v.of[mine]] & (current != np.arange(v.nodes))] = _NEVER
        change[:, node] = _NEVER
        return self._with_noise(change)

    def _swaps(self, node: int, mine: Codes, others: Codes, over: Floats, needed: float) -> Floats:
        """What every pod of a node changing places with every other pod would change."""
        v, load, free = self._v, self._load, self._free
        there = self.at[others]
        more = v.wanted[mine][:, np.newaxis] - v.wanted[others]
        here = self._over(load[node] - more, free[node])
        elsewhere = self._over(load[there] + more, free[there])
        change = here + elsewhere - over[node] - over[there]
        current, others_current = v.current[mine][:, np.newaxis], v.current[others]
        change += self._stay * ((current == node) * 1.0 - (current == there))
        change += self._stay * ((others_current == there) * 1.0 - (others_current == node))
        barred = self._until[mine][:, there] > self._turn
        barred |= self._until[others, node] > self._turn
        barred &= change >= needed
        change[barred | ~self._may_swap(node, mine, others, there)] = _NEVER
        return self._with_noise(change)

    def _with_noise(self, change: Floats) -> Floats:
        noisy: Floats = change + self._random.random(change.shape) * self._effort.noise
        return noisy

    def _may_swap(self, node: int, mine: Codes, others: Codes, there: Codes) -> Mask:
        """Whether two pods may take each other's places; outside, only those of equal priority."""
        v = self._v
        outside = there == v.nodes
        inside = np.where(outside, 0, there)
        current = v.current[mine][:, np.newaxis]
        goes = v.allowed[v.of[mine]][:, inside] | (current == there)
        comes = v.allowed[v.of[others], node] | (v.current[others] == node)
        equal = v.priority[mine][:, np.newaxis] == v.priority[others]
        allowed: Mask = np.where(outside, equal, goes) & comes
        return allowed


class Insertion:
    """Looks for packings that place as many pods of every priority as some bound allows."""

    def __init__(self, vectors: Vectors, meter: Meter) -> None:
        self._v = vectors
        self._meter = meter
        self._effort = meter.effort.tabu
        self._priorities: list[int] = sorted(set(vectors.priority.tolist()), reverse=True)
        self._size = (vectors.wanted / vectors.unit).sum(axis=1)

    def at_once(self, start: Codes, pods: Mapping[int, int], seed: int, stay: float) -> Codes | None:
        """So many pods of every priority, the largest left outside to begin with; None when that failed.

        `stay` is what a pod that stays where it runs is worth.
        """
        tabu = Tabu(self._v, start, seed, self._effort, stay)
        for priority in self._priorities:
            placed = ((tabu.at < self._v.nodes) & (self._v.priority == priority)).sum()
            missing = int(pods[priority] - self._v.aside[priority] - placed)
            for pod in self._outside(tabu, priority)[: max(missing, 0)]:
                if not tabu.insert(pod):
                    return None
        return tabu.at if tabu.repair(self._effort.iterations, self._meter) else None

    def climb(self, start: Codes, seed: int) -> Codes:
        """One pod after the other; where those of lower priority are in the way, they go first."""
        tabu = Tabu(self._v, start, seed, self._effort)
        for priority in self._priorities:
            while outside := self._outside(tabu, priority):
                if not self._one_more(tabu, outside[0]) and not self._instead(tabu, outside[0]):
                    break
        return tabu.at

    def _one_more(self, tabu: Tabu, pod: int) -> bool:
        before = tabu.at.copy()
        if tabu.insert(pod) and tabu.repair(self._effort.iterations, self._meter):
            return True
        tabu.reset(before)
        return False

    def _instead(self, tabu: Tabu, pod: int) -> bool:
        """The same with all pods of lower priority outside; those that fit then come back where they run."""
        before = tabu.at.copy()
        lower = np.flatnonzero((self._v.priority < self._v.priority[pod]) & (tabu.at < self._v.nodes))
        if not lower.size:
            return False
        for other in lower.tolist():
            tabu.move(other, self._v.nodes)
        if self._one_more(tabu, pod):
            for other in lower.tolist():
                current = int(self._v.current[other])
                if current >= 0 and tabu.fits(other, current):
                    tabu.move(other, current)
            return True
        tabu.reset(before)
        return False

    def _outside(self, tabu: Tabu, priority: int) -> list[int]:
        """The pods of a priority without a place, the smallest first."""
        pods = np.flatnonzero((tabu.at == self._v.nodes) & (self._v.priority == priority))
        ordered: list[int] = pods[np.argsort(self._size[pods], kind="stable")].tolist()
        return ordered
