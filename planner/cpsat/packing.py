"""Whether so many pods can be packed by what they request alone: a question with yes, no, or no answer yet.

Every other rule is left out, and pods that run may go anywhere, so that a no holds for every plan.
Nodes that are alike are told apart by a rule: the first pod goes to the first of them, the second to
one of the first two, and so on.  And where nearly everything has to be full, every node has to be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from planner.cpsat.solver import solved
from planner.problem.nodes import Ints
from planner.proof.meter import Meter


@dataclass(frozen=True, slots=True)
class PackingKind:
    """Pods that are alike: how many, how important, what each wants, how many each node may have."""

    pods: int
    priority: int
    wanted: Ints
    room: Ints


class PackingModel:
    """Pods of several kinds on nodes with so much free; a row of `free` for every resource."""

    def __init__(self, kinds: Sequence[PackingKind], free: Ints) -> None:
        self._kinds = kinds
        self._free = free

    def place(
        self, least: Mapping[int, int], meter: Meter, work: float
    ) -> dict[tuple[int, int], int] | bool | None:
        """A packing, by kind and node, with at least so many pods of each priority.

        False when there is none, None when that stayed open.
        """
        cp = cp_model.CpModel()
        x = [self._variables(cp, kind) for kind in self._kinds]
        self._fill(cp, x, self.waste(least))
        self._order(cp, x)
        for priority, pods in least.items():
            placed = [
                v
                for kind, nodes in zip(self._kinds, x, strict=True)
                if kind.priority == priority
                for v in nodes.values()
            ]
            cp.add(cp_model.LinearExpr.sum(placed) >= pods)
        result = solved(cp, meter, work)
        if not result.found:
            return False if result.impossible else None
        return {
            (number, node): pods
            for number, nodes in enumerate(x)
            for node, variable in nodes.items()
            if (pods := result.solver.value(variable))
        }

    def _variables(self, cp: cp_model.CpModel, kind: PackingKind) -> dict[int, cp_model.IntVar]:
        nodes = np.flatnonzero(kind.room).tolist()
        found = {node: cp.new_int_var(0, min(kind.pods, int(kind.room[node])), "") for node in nodes}
        cp.add(cp_model.LinearExpr.sum(list(found.values())) <= kind.pods)
        return found

    def waste(self, least: Mapping[int, int]) -> list[int]:
        """Of every resource, how much may stay free at most when so many pods have a place."""
        needed = np.zeros(len(self._free), np.int64)
        for priority, pods in least.items():
            for row in range(len(self._free)):
                amounts = sorted(
                    int(kind.wanted[row])
                    for kind in self._kinds
                    if kind.priority == priority
                    for _ in range(kind.pods)
                )
                needed[row] += sum(amounts[:pods])
        waste: list[int] = (self._free.sum(axis=1) - needed).tolist()
        return waste

    def _fill(
        self, cp: cp_model.CpModel, x: Sequence[Mapping[int, cp_model.IntVar]], waste: Sequence[int]
    ) -> None:
        """No node carries more than it has, nor less than that without all the waste."""
        for row, free in enumerate(self._free.tolist()):
            on: dict[int, list[tuple[cp_model.IntVar, int]]] = defaultdict(list)
            for kind, nodes in zip(self._kinds, x, strict=True):
                for node, variable in nodes.items():
                    if kind.wanted[row]:
                        on[node].append((variable, int(kind.wanted[row])))
            for node, terms in on.items():
                load = cp_model.LinearExpr.weighted_sum([v for v, _ in terms], [a for _, a in terms])
                cp.add_linear_constraint(load, max(0, free[node] - waste[row]), free[node])

    def _order(self, cp: cp_model.CpModel, x: Sequence[Mapping[int, cp_model.IntVar]]) -> None:
        """Among nodes that are alike, the largest pods choose in order."""
        scale = 1.0 / np.maximum(self._free.sum(axis=1), 1)
        largest = sorted(range(len(x)), key=lambda number: -float(self._kinds[number].wanted @ scale))
        for nodes in self.alike():
            before = 0
            for number in largest:
                pods = self._kinds[number].pods
                for rank, node in enumerate(nodes[before + 1 :], start=before + 1):
                    if node in x[number]:
                        cp.add(x[number][node] <= max(0, before + pods - rank))
                before += pods
                if before >= len(nodes):
                    break

    def alike(self) -> Iterable[list[int]]:
        """Nodes that have the same free and take the same pods."""
        groups: dict[bytes, list[int]] = defaultdict(list)
        rooms = np.array([kind.room for kind in self._kinds])
        for node in range(self._free.shape[1]):
            groups[self._free[:, node].tobytes() + rooms[:, node].tobytes()].append(node)
        return groups.values()
