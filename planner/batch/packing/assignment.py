"""From so many pods a cell to so many pods a node: quotas distributed over nodes.

Nodes of a cell are alike in what a batch may ask for, but not in what is left on them.  Large pods first,
each round one pod of a template a node, on the nodes whose free room suits it best.  What finds no place
within its cell is left to `neighbourhood_search.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from planner.batch.pending import Pending
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes, Ints
from planner.scheduler.order import Placement, Step


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

    def distribute(self, quotas: Placement) -> Counter[Step]:
        """The pods of every template by node, as many as found a place."""
        placement = Counter[Step]()
        for template, cells in self._largest_first(quotas):
            rows = np.flatnonzero(self._problem.templates[template].requests)
            wanted = self._problem.templates[template].requests[rows]
            room = self._room[template].copy()
            for cell, pods in cells:
                for node in self._place(room, rows, wanted, self._members[cell], pods):
                    placement[template, node] += 1
        return placement

    def _largest_first(self, quotas: Placement) -> Iterable[tuple[int, list[tuple[int, int]]]]:
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
