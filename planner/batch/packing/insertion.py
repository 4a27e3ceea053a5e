"""The most pods into the nodes by what they request alone, a good guess where nothing else matters much.

One pod after the other, the highest priority first; or, once it is known how many have a place, all of them
at once with as many as possible where they run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.batch.packing.tabu import Tabu
from planner.batch.packing.vectors import Vectors
from planner.problem.nodes import Codes
from planner.proof.meter import Meter


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
