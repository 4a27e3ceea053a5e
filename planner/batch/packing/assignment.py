"""From so many pods a cell to so many pods a node: quotas distributed over nodes, repaired, packed anew.

Nodes of a cell are alike in what a batch may ask for, but not in what is left on them.  Large pods first,
each round one pod of a template a node, on the nodes whose free room suits it best.  What finds no place
within its cell is left to others.

Then pods of a cell change places until one more fits.  Within a cell nodes are alike to all constraints but
what fits on each, so that pods may change places there without touching any domain.  Each pod left over is
put where it overloads a node the least, and moves and swaps with the other pods repair that; pods that a rule
allows only so many of on a node stay where they are.

Last a few nodes at a time are packed anew and solved exactly, which is slower, and more thorough.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np

from planner.batch.packing.tabu import Tabu
from planner.batch.packing.vectors import Units
from planner.batch.pending import Pending
from planner.constraints import Filter
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes, Ints
from planner.proof.meter import Meter
from planner.scheduler.order import Step

#: (template, cell or node) -> pods.
Quotas = Mapping[tuple[int, int], int]


def left_over(placement: Quotas, quotas: Quotas, cells: NodeGroups) -> dict[int, Counter[int]]:
    """Per cell the pods of each template that have no place there yet."""
    left: dict[int, Counter[int]] = defaultdict(Counter)
    for (template, cell), pods in quotas.items():
        left[cell][template] += pods
    for (template, node), pods in placement.items():
        left[int(cells.of[node])][template] -= pods
    return {cell: wanted for cell, found in left.items() if (wanted := +found)}


class Assignment:
    """Distributes quotas over the free room of a state, of which it keeps an account of its own."""

    def __init__(
        self, pending: Pending, cells: NodeGroups, room: Mapping[int, Ints], free: Ints | None = None
    ) -> None:
        """`free` is what nodes may take of each resource, if that is less than what is free there."""
        self._problem = pending.problem
        self._room = room
        self._free = pending.free_room() if free is None else free.copy()
        largest = self._problem.allocatable.max(axis=1, initial=0)
        self._scale = 1.0 / np.maximum(largest, 1)
        self._members = cells.members()

    def distribute(self, quotas: Quotas) -> Counter[tuple[int, int]]:
        """The pods of every template by node, as many as found a place."""
        placement: Counter[tuple[int, int]] = Counter()
        for template, cells in self._largest_first(quotas):
            rows = np.flatnonzero(self._problem.templates[template].requests)
            wanted = self._problem.templates[template].requests[rows]
            room = self._room[template].copy()
            for cell, pods in cells:
                for node in self._place(room, rows, wanted, self._members[cell], pods):
                    placement[template, node] += 1
        return placement

    def _largest_first(self, quotas: Quotas) -> Iterable[tuple[int, list[tuple[int, int]]]]:
        """Every template with its cells and quotas; by priority, then by the resource it wants most of."""
        by_template: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for (template, cell), pods in quotas.items():
            by_template[template].append((cell, pods))
        sizes = {t: float((self._problem.templates[t].requests * self._scale).max()) for t in by_template}
        order = sorted(by_template, key=lambda t: (-self._problem.templates[t].priority, -sizes[t], t))
        return [(template, by_template[template]) for template in order]

    def _place(self, room: Ints, rows: Codes, wanted: Ints, members: Codes, pods: int) -> Iterable[int]:
        """Rounds of one pod a node while pods are left and nodes have room."""
        across = rows[:, np.newaxis]
        while pods:
            free = self._free[across, members]
            fits = (free >= wanted[:, np.newaxis]).all(axis=0) & (room[members] > 0)
            nodes = members[fits]
            if not nodes.size:
                return
            chosen = nodes[self._best_suited(rows, wanted, free[:, fits])[:pods]]
            self._free[across, chosen] -= wanted[:, np.newaxis]
            room[chosen] -= 1
            pods -= len(chosen)
            yield from chosen.tolist()

    def _best_suited(self, rows: Codes, wanted: Ints, free: Ints) -> Codes:
        """The nodes whose free room is most like the request in its proportions."""
        left = free * self._scale[rows, np.newaxis]
        request = wanted * self._scale[rows]
        return np.argsort(-(request @ left) / np.sqrt((left * left).sum(axis=0)), kind="stable")


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


class Repack:
    """Finds places for what changing places left over."""

    def __init__(self, pending: Pending, cells: NodeGroups, room: Mapping[int, Ints], meter: Meter) -> None:
        self._pending = pending
        self._room = room
        self._meter = meter
        self._cells = cells
        self._profiles = [
            (tuple(plugin for plugin in filters if self._is_local(plugin, carriers)), carriers)
            for filters, carriers in pending.profiles()
        ]

    def _is_local(self, plugin: Filter, carriers: Collection[int]) -> bool:
        """Whether a rule looks at nothing but the node itself, and so decides within a cell."""
        watched = [plugin.watches(self._pending.template(number)) for number in carriers]
        return all(templates is not None and not templates for templates in watched)

    def improve(self, placement: Counter[Step], quotas: Quotas) -> Counter[Step]:
        """The placement with as many more of the quotas in it as were found a place for."""
        found = Counter(placement)
        members = self._cells.members()
        for cell, wanted in left_over(placement, quotas, self._cells).items():
            for nodes in self._neighbourhoods(members[cell], wanted, found):
                if self._meter.over():
                    return found
                self._pack(nodes, wanted, found)
        return found

    def _neighbourhoods(
        self, members: Codes, wanted: Counter[int], placement: Counter[Step]
    ) -> Iterator[Codes]:
        """A few nodes at a time: those with the most room, together with any others."""
        dice = random.Random(len(members))
        for _ in range(self._meter.effort.cells.repack_tries):
            free = self._free(members, placement)
            if not wanted:
                return
            may_come = np.max([self._room[template][members] for template in wanted], axis=0) > 0
            order = np.argsort(-free * may_come, kind="stable")
            roomiest = members[order[: self._meter.effort.cells.repack_nodes // 2]].tolist()
            others = [node for node in members.tolist() if node not in set(roomiest)]
            yield np.array(
                roomiest
                + dice.sample(
                    others, min(len(others), self._meter.effort.cells.repack_nodes - len(roomiest))
                ),
                np.intp,
            )

    def _free(self, members: Codes, placement: Counter[Step]) -> Ints:
        """The share of every node that is free, of the resource that it has least of."""
        problem, state = self._pending.problem, self._pending.state
        used = state.used[:, members].copy()
        position = {node: number for number, node in enumerate(members.tolist())}
        for (template, node), pods in placement.items():
            if node in position:
                used[:, position[node]] += pods * problem.templates[template].requests
        room = problem.allocatable[:, members]
        share: Ints = np.where(room > 0, 1000 * (room - used) // np.maximum(room, 1), 1000).min(axis=0)
        return share

    def _pack(self, nodes: Codes, wanted: Counter[int], placement: Counter[Step]) -> None:
        """Pack some nodes anew with as many of the wanted pods as possible beside all that they have."""
        from planner.cpsat.model import BatchModel
        from planner.cpsat.variables import Batch

        inside = set(nodes.tolist())
        here = Counter({step: pods for step, pods in placement.items() if step[1] in inside and pods})
        pods = Counter(wanted)
        for (template, _), number in here.items():
            pods[template] += number
        only = np.zeros(self._pending.problem.nodes.size, np.int64)
        only[nodes] = 1
        batch = Batch(self._pending.problem, pods, {number: self._room[number] * only for number in pods})
        model = BatchModel(batch, self._profiles)
        found = model.solve(
            model.pods_placed(self._meter.effort.cells.repack_once_work, open=True), here, self._meter
        )
        if found is None or sum(found.phases[0].values()) <= sum(here.values()):
            return
        placement.subtract(here)
        placement.update(found.phases[0])
        placed: Counter[int] = Counter()
        for (template, _), number in found.phases[0].items():
            placed[template] += number
        wanted.clear()
        wanted.update(pods - placed)
