"""Places for what an assignment left over: pods of a cell change places until one more fits.

Within a cell nodes are alike to all constraints but what fits on each, so that pods may change places
there without touching any domain.  Each pod left over is put where it overloads a node the least, and
moves and swaps with the other pods repair that; pods that a rule allows only so many of on a node stay
where they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from planner.batch.packing.assignment import Quotas, left_over
from planner.batch.packing.tabu import Tabu
from planner.batch.packing.vectors import Units
from planner.batch.pending import Pending
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes, Ints
from planner.proof.meter import Meter
from planner.scheduler.order import Step


class PackingRepair:
    """Finds places for what an assignment left over."""

    def __init__(self, pending: Pending, cells: NodeGroups, room: Mapping[int, Ints], meter: Meter) -> None:
        self._pending = pending
        self._room = room
        self._meter = meter
        self._cells = cells

    @cached_property
    def _capped(self) -> set[int]:
        return {number for number in self._pending.wanted if self._pending.is_capped(number)}

    def improve(self, placement: Counter[Step], quotas: Quotas) -> Counter[Step]:
        """The placement with as many more of the quotas in it as were found a place for."""
        on: dict[int, Counter[int]] = defaultdict(Counter)
        for (template, node), pods in placement.items():
            on[node][template] += pods
        members = self._cells.members()
        for cell, wanted in left_over(placement, quotas, self._cells).items():
            for nodes in _groups(members[cell], self._meter.effort.cells.repair_nodes):
                if not wanted or self._meter.over():
                    break
                self._squeeze(nodes, wanted, on)
        return Counter({(t, node): pods for node, there in on.items() for t, pods in there.items() if pods})

    def _squeeze(self, nodes: Codes, wanted: Counter[int], on: dict[int, Counter[int]]) -> None:
        """Bring as many of the wanted pods as possible to some nodes; those that came are wanted no more."""
        room = _Nodes(self._pending, nodes, wanted, on, self._capped, self._room)
        tabu = Tabu(room, room.at, 0, self._meter.effort.tabu, stay=0.0)
        failed: set[int] = set()
        for pod in range(room.static, room.pods):
            template = room.templates[room.of[pod]]
            if template in failed or self._meter.over():
                continue
            before = tabu.at.copy()
            if not (
                tabu.insert(pod)
                and tabu.repair(self._meter.effort.cells.repair_iterations, self._meter)
                and room.within_limits(tabu.at)
            ):
                tabu.reset(before)
                failed.add(template)
        room.write(tabu.at, wanted, on)


class _Nodes(Units):
    """Some nodes of a cell with the pods that may change places there, and those that want to come."""

    def __init__(  # noqa: PLR0913, PLR0917 -- what a repair knows
        self,
        pending: Pending,
        nodes: Codes,
        wanted: Counter[int],
        on: Mapping[int, Counter[int]],
        capped: set[int],
        room: Mapping[int, Ints],
    ) -> None:
        problem = pending.problem
        self._node_numbers = nodes
        self._capped = capped
        here = Counter[int]()
        for node in nodes.tolist():
            here.update(on[node])
        self.templates = sorted({*wanted, *(number for number, pods in here.items() if pods)})
        position = {number: place for place, number in enumerate(self.templates)}
        requests = np.array([problem.templates[number].requests for number in self.templates], np.float64)
        rows = np.flatnonzero(requests.any(axis=0))
        self.free = (problem.allocatable - pending.state.used)[rows][:, nodes].T.astype(np.float64)
        self._most = np.array([room[number][nodes] for number in self.templates])
        of, at = [], []
        for place, node in enumerate(nodes.tolist()):
            for number, pods in on[node].items():
                if number in capped:
                    self.free[place] -= pods * requests[position[number]][rows]
                    self._most[position[number], place] -= pods
                else:
                    of += [position[number]] * pods
                    at += [place] * pods
        self.static = len(of)
        of += [position[number] for number, pods in sorted(wanted.items()) for _ in range(pods)]
        at += [len(nodes)] * (len(of) - self.static)
        self.of, self.at = np.array(of, np.intp), np.array(at, np.intp)
        self.free = np.maximum(self.free, 0)
        self.wanted = requests[:, rows][self.of]
        self.current = np.full(len(of), -1, np.intp)
        # No two pods outside are alike, so that none takes the place of another.
        self.priority = np.maximum(np.arange(len(of)) - self.static + 1, 0)
        self.allowed = self._most > 0
        self._measure()

    def within_limits(self, at: Codes) -> bool:
        """Whether no node has more of a template than some rule allows."""
        inside = at < self.nodes
        counts = np.zeros((len(self.templates), self.nodes), np.int64)
        np.add.at(counts, (self.of[inside], at[inside]), 1)
        capped = [place for place, number in enumerate(self.templates) if number in self._capped]
        return bool((counts[capped] <= self._most[capped]).all())

    def write(self, at: Codes, wanted: Counter[int], on: dict[int, Counter[int]]) -> None:
        """Note where all pods are now."""
        for node in self._node_numbers.tolist():
            on[node] = Counter({number: pods for number, pods in on[node].items() if number in self._capped})
        for pod, (place, kind) in enumerate(zip(at.tolist(), self.of.tolist(), strict=True)):
            if place < self.nodes:
                on[int(self._node_numbers[place])][self.templates[kind]] += 1
                if pod >= self.static:
                    wanted[self.templates[kind]] -= 1
        for number in [number for number, pods in wanted.items() if not pods]:
            del wanted[number]


def _groups(members: Codes, nodes: int) -> Iterator[Codes]:
    """The nodes of a cell in groups of about equal size, so many at most, and then in others."""
    number = -(-len(members) // nodes)
    shuffled = np.random.default_rng(0).permutation(members)
    for order in (members, shuffled):
        yield from (order[start::number] for start in range(number))
