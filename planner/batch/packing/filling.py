"""Nodes filled to the brim one after the other, so that what is left to pack is easy.

Where requests are nearly all the room there is, a repair of all nodes at once gets stuck: what is free
lies in scraps on each.  Filled one by one most nodes keep next to nothing, and the few that come last
have all of it.  A node gets the largest pod that is left, some others by chance, and the up to three
that fill it best.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.batch.packing.best_fit import best_fit
from planner.batch.packing.tabu import Tabu
from planner.batch.packing.vectors import Floats, Units
from planner.problem.nodes import Codes
from planner.proof import effort
from planner.proof.meter import Meter

#: A request of nothing, against division by it.
_NOTHING = 1e-9


class Filling:
    """One try to find a packing of so many pods, the same for the same seed."""

    def __init__(self, vectors: Units, meter: Meter, seed: int) -> None:
        self._v = vectors
        self._meter = meter
        self._seed = seed
        self._random = np.random.default_rng(seed)
        relative = vectors.wanted / vectors.unit
        self._size: Floats = relative.max(axis=1, initial=0)
        asked = relative.sum(axis=0)
        scarce = asked / max(float(asked.max(initial=0)), _NOTHING)
        #: What stays free counts by how scarce it is; a resource half as scarce counts next to nothing.
        self._weight: Floats = scarce**effort.FILL_SHARPNESS / vectors.unit
        self._at = np.full(vectors.pods, vectors.nodes, np.intp)

    def place(self, pods: Mapping[int, int]) -> Codes | None:
        """The node of every pod, with so many of every priority placed; None when that did not work out."""
        left = self._chosen(pods)
        nodes = self._random.permutation(self._v.nodes)
        loose = min(effort.FILL_LOOSE[self._seed % len(effort.FILL_LOOSE)], -(-self._v.nodes // 2))
        for node in nodes[loose:].tolist():
            if self._meter.over():
                return None
            chosen = self._best_for(node, left)
            self._at[chosen] = node
            left = np.setdiff1d(left, chosen, assume_unique=True)
        return self._at if self._repair(left, np.sort(nodes[:loose])) else None

    def _chosen(self, pods: Mapping[int, int]) -> Codes:
        """The pods to be placed: of every priority about the smallest."""
        sizes = (self._v.wanted / self._v.unit).sum(axis=1)
        shaken = sizes * (1 + effort.FILL_SHAKE * self._random.random(len(sizes)))
        chosen = [np.zeros(0, np.intp)]
        for priority, wanted in pods.items():
            own = np.flatnonzero(self._v.priority == priority)
            number = max(0, wanted - self._v.aside.get(priority, 0))
            chosen.append(own[np.argsort(shaken[own], kind="stable")[:number]])
        return np.sort(np.concatenate(chosen))

    def _best_for(self, node: int, left: Codes) -> Codes:
        """The pods that fill a node best, of some tries."""
        v, free = self._v, self._v.free[node]
        may = v.allowed[v.of[left], node] | (v.home[left] == node)
        pods: Codes = left[may & (v.wanted[left] <= free).all(axis=1)]
        best, least = pods[:0], np.inf
        for _ in range(effort.FILL_TRIES if pods.size else 0):
            chosen, waste = self._fill(pods, free)
            if waste < least:
                best, least = chosen, waste
            if least <= effort.FILL_ENOUGH:
                break
        return best

    def _fill(self, pods: Codes, free: Floats) -> tuple[Codes, float]:
        """The largest pod, some by chance, and the last few so that the least stays free."""
        wanted = self._v.wanted
        shaken = self._size[pods] * (1 + effort.FILL_ANCHOR_SHAKE * self._random.random(len(pods)))
        largest = int(pods[shaken.argmax()])
        chosen, room = [largest], free - wanted[largest]
        others = self._random.permutation(pods[pods != largest])
        enough = effort.FILL_LAST * np.maximum(wanted[pods].mean(axis=0), _NOTHING)
        looked = 0
        while looked < len(others) and (room > enough).all():
            pod = int(others[looked])
            looked += 1
            if (wanted[pod] <= room).all():
                chosen.append(pod)
                room = room - wanted[pod]
        last = np.sort(others[looked:][: effort.FILL_PODS])
        window = effort.FILL_WINDOW * float(self._v.unit[0])
        waste, more, sets = best_fit(wanted[last], room, self._weight, window)
        self._meter.spend(effort.PRICE_OF_FIT + effort.PRICE_OF_SET * sets)
        return np.array([*chosen, *last[more].tolist()], np.intp), waste

    def _repair(self, left: Codes, nodes: Codes) -> bool:
        """Whether the pods that are left found places on some nodes."""
        tabu = Tabu(
            _Remainder(self._v, left, nodes), np.full(len(left), len(nodes), np.intp), self._seed, 0.0
        )
        for pod in np.argsort(-self._size[left], kind="stable").tolist():
            if not tabu.insert(pod):
                return False
        if not tabu.repair(effort.FILL_TURNS, self._meter):
            return False
        self._at[left] = nodes[tabu.at]
        return True


class _Remainder(Units):
    """Some pods and some nodes of a packing."""

    def __init__(self, whole: Units, pods: Codes, nodes: Codes) -> None:
        position = np.full(whole.nodes + 1, -1, np.intp)
        position[nodes] = np.arange(len(nodes))
        self.of, self.home = whole.of[pods], position[whole.home[pods]]
        self.wanted, self.free = whole.wanted[pods], whole.free[nodes]
        self.priority, self.allowed = whole.priority[pods], whole.allowed[:, nodes]
        self._measure()
