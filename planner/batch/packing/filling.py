"""Nodes filled to the brim one after the other, so that what is left to pack is easy.

Where requests are nearly all the room there is, a repair of all nodes at once gets stuck: what is free
lies in scraps on each.  Filled one by one most nodes keep next to nothing, and the few that come last
have all of it.  A node gets the largest pod that is left, some others by chance, and the up to three
that fill it best.  Alike nodes then exchange all their pods, so that as many as possible are where they run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from planner.batch.packing.tabu import Tabu
from planner.batch.packing.vectors import Floats, Units
from planner.problem.nodes import Codes, Ints
from planner.proof.meter import Meter

#: A request of nothing, against division by it.
_NOTHING = 1e-9


class Filling:
    """One try to find a packing of so many pods, the same for the same seed."""

    def __init__(self, vectors: Units, meter: Meter, seed: int) -> None:
        self._v = vectors
        self._meter = meter
        self._effort = meter.effort.filling
        self._seed = seed
        self._random = np.random.default_rng(seed)
        relative = vectors.wanted / vectors.unit
        self._size: Floats = relative.max(axis=1, initial=0)
        asked = relative.sum(axis=0)
        scarce = asked / max(float(asked.max(initial=0)), _NOTHING)
        #: What stays free counts by how scarce it is; a resource half as scarce counts next to nothing.
        self._weight: Floats = scarce**self._effort.sharpness / vectors.unit
        self._at = np.full(vectors.pods, vectors.nodes, np.intp)

    def place(self, pods: Mapping[int, int]) -> Codes | None:
        """The node of every pod, with so many of every priority placed; None when that did not work out.

        Where pods ask for nothing no node is ever full.
        """
        if not self._v.unit.size:
            return None
        left = self._chosen(pods)
        nodes = self._random.permutation(self._v.nodes)
        loose = min(self._effort.loose[self._seed % len(self._effort.loose)], -(-self._v.nodes // 2))
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
        noisy = sizes * (1 + self._effort.shake * self._random.random(len(sizes)))
        chosen = [np.zeros(0, np.intp)]
        for priority, wanted in pods.items():
            own = np.flatnonzero(self._v.priority == priority)
            number = max(0, wanted - self._v.aside.get(priority, 0))
            chosen.append(own[np.argsort(noisy[own], kind="stable")[:number]])
        return np.sort(np.concatenate(chosen))

    def _best_for(self, node: int, left: Codes) -> Codes:
        """The pods that fill a node best, of some tries."""
        v, free = self._v, self._v.free[node]
        may = v.allowed[v.of[left], node] | (v.current[left] == node)
        pods: Codes = left[may & (v.wanted[left] <= free).all(axis=1)]
        best, least = pods[:0], np.inf
        for _ in range(self._effort.tries if pods.size else 0):
            chosen, waste = self._fill(pods, free)
            if waste < least:
                best, least = chosen, waste
            if least <= self._effort.enough:
                break
        return best

    def _fill(self, pods: Codes, free: Floats) -> tuple[Codes, float]:
        """The largest pod, some by chance, and the last few so that the least stays free."""
        wanted = self._v.wanted
        noisy = self._size[pods] * (1 + self._effort.anchor_shake * self._random.random(len(pods)))
        largest = int(pods[noisy.argmax()])
        chosen, room = [largest], free - wanted[largest]
        others = self._random.permutation(pods[pods != largest])
        enough = self._effort.last * np.maximum(wanted[pods].mean(axis=0), _NOTHING)
        looked = 0
        while looked < len(others) and (room > enough).all():
            pod = int(others[looked])
            looked += 1
            if (wanted[pod] <= room).all():
                chosen.append(pod)
                room = room - wanted[pod]
        last = np.sort(others[looked:][: self._effort.pods])
        window = self._effort.window * float(self._v.unit[0])
        waste, more, sets = best_fit(wanted[last], room, self._weight, window, self._effort.triples)
        self._meter.spend(self._effort.price_of_fit + self._effort.price_of_set * sets)
        return np.array([*chosen, *last[more].tolist()], np.intp), waste

    def _repair(self, left: Codes, nodes: Codes) -> bool:
        """Whether the pods that are left found places on some nodes."""
        tabu = Tabu(
            _Remainder(self._v, left, nodes),
            np.full(len(left), len(nodes), np.intp),
            self._seed,
            self._meter.effort.tabu,
            0.0,
        )
        for pod in np.argsort(-self._size[left], kind="stable").tolist():
            if not tabu.insert(pod):
                return False
        if not tabu.repair(self._effort.iterations, self._meter):
            return False
        self._at[left] = nodes[tabu.at]
        return True


class _Remainder(Units):
    """Some pods and some nodes of a packing."""

    def __init__(self, whole: Units, pods: Codes, nodes: Codes) -> None:
        position = np.full(whole.nodes + 1, -1, np.intp)
        position[nodes] = np.arange(len(nodes))
        self.of, self.current = whole.of[pods], position[whole.current[pods]]
        self.wanted, self.free = whole.wanted[pods], whole.free[nodes]
        self.priority, self.allowed = whole.priority[pods], whole.allowed[:, nodes]
        self._measure()


def best_fit(
    wanted: Floats, room: Floats, weight: Floats, window: float, triples: int
) -> tuple[float, Codes, int]:
    """What stays free at best, by weight, with the pods that leave it; and how many sets were looked at.

    Of sets of three only those that leave less than the window of the first resource, about `triples`
    at most.
    """
    best, chosen, looked = float(room @ weight), np.zeros(0, np.intp), 0
    for sets in _sets(wanted, room, window, triples):
        left = room - wanted[sets].sum(axis=1)
        looked += len(sets)
        free = np.where((left >= 0).all(axis=1), left @ weight, np.inf)
        if len(free) and free.min() < best:
            best, chosen = float(free.min()), sets[int(free.argmin())]
    return best, chosen, looked


def _sets(wanted: Floats, room: Floats, window: float, triples: int) -> Iterator[Codes]:
    """All sets of one pod, all of two, and some of three: a row for each."""
    pods = np.arange(len(wanted))
    yield pods[:, np.newaxis]
    pairs = np.stack(np.triu_indices(len(wanted), 1), axis=1)
    yield pairs
    first = wanted[pairs, 0].sum(axis=1)
    order = np.argsort(first, kind="stable")
    first = first[order]
    wide = room[0] - wanted[:, 0]
    start, end = np.searchsorted(first, wide - window), np.searchsorted(first, wide, side="right")
    numbers = end - start
    # Too many: every so many of them, at the full end.
    share = max(1, -(-int(numbers.sum()) // triples))
    numbers = numbers // share
    third = np.repeat(pods, numbers)
    rank = np.arange(len(third)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    pair = pairs[order[end[third] - 1 - rank]]
    once = pair[:, 1] < third
    yield np.column_stack([pair[once], third[once]])


def kept_on_current_node(vectors: Units, at: Codes) -> Codes:
    """The same packing with the loads of alike nodes reassigned among them, the closest match first."""
    new = np.arange(vectors.nodes + 1)
    for nodes in _alike(vectors, at):
        coming, running = _counts(vectors, at, nodes), _counts(vectors, vectors.current, nodes)
        staying = np.minimum(coming[:, np.newaxis], running).sum(axis=2)
        for _ in nodes:
            load, node = np.unravel_index(int(staying.argmax()), staying.shape)
            new[nodes[load]] = nodes[node]
            staying[load], staying[:, node] = -1, -1
    found: Codes = new[at]
    return found


def _alike(vectors: Units, at: Codes) -> list[Codes]:
    """Nodes that have the same room for the same pods, also for those that are on them now."""
    strangers = np.flatnonzero(
        (at < vectors.nodes) & ~vectors.allowed[vectors.of, np.minimum(at, vectors.nodes - 1)]
    )
    apart = set(at[strangers].tolist())
    groups: dict[bytes, list[int]] = defaultdict(list)
    for node in range(vectors.nodes):
        if node not in apart:
            groups[vectors.free[node].tobytes() + vectors.allowed[:, node].tobytes()].append(node)
    return [np.array(nodes, np.intp) for nodes in groups.values() if len(nodes) > 1]


def _counts(vectors: Units, at: Codes, nodes: Codes) -> Ints:
    """How many pods of every kind each of the nodes has."""
    position = np.full(vectors.nodes + 1, -1, np.intp)
    position[nodes] = np.arange(len(nodes))
    there = position[at]
    counts = np.zeros((len(nodes), len(vectors.allowed)), np.int64)
    np.add.at(counts, (there[there >= 0], vectors.of[there >= 0]), 1)
    return counts
