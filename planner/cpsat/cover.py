"""Nodes covered by patterns: each has one of those that its kind may have, and no pod is used twice.

Where every pattern that leaves little enough free is known, this decides whether so many pods can be
packed; the patterns carry all that requests have to say.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True, slots=True)
class Alike:
    """Nodes that are alike, what each has free, and the patterns that each may have: pods of some kinds."""

    nodes: tuple[int, ...]
    free: Ints
    patterns: Sequence[tuple[tuple[int, int], ...]]


class CoverModel:
    """A number for every pattern of alike nodes, and one for the pods of every kind that are left over."""

    def __init__(
        self, groups: Sequence[Alike], kinds: Sequence[PackingKind], least: Mapping[int, int]
    ) -> None:
        self._groups = groups
        self._kinds = kinds
        self._cp = cp_model.CpModel()
        self._times = [
            [self._cp.new_int_var(0, self._most(group, pattern), "") for pattern in group.patterns]
            for group in groups
        ]
        self._left = [self._cp.new_int_var(0, kind.pods, "") for kind in kinds]
        for group, times in zip(groups, self._times, strict=True):
            self._cp.add(cp_model.LinearExpr.sum(times) == len(group.nodes))
        self._use_every_pod_once()
        self._leave_over(least)
        for row in range(len(groups[0].free)):
            self._use_room(row)

    def _most(self, group: Alike, pattern: tuple[tuple[int, int], ...]) -> int:
        return min([len(group.nodes), *(self._kinds[kind].pods // pods for kind, pods in pattern)])

    def _use_every_pod_once(self) -> None:
        used: dict[int, list[tuple[cp_model.IntVar, int]]] = defaultdict(list)
        for group, times in zip(self._groups, self._times, strict=True):
            for variable, pattern in zip(times, group.patterns, strict=True):
                for kind, pods in pattern:
                    used[kind].append((variable, pods))
        for number, left in enumerate(self._left):
            terms = [*used[number], (left, 1)]
            total = cp_model.LinearExpr.weighted_sum([v for v, _ in terms], [n for _, n in terms])
            self._cp.add(total == self._kinds[number].pods)

    def _leave_over(self, least: Mapping[int, int]) -> None:
        """No more pods of a priority than its least allows."""
        for priority, pods in least.items():
            own = [n for n, kind in enumerate(self._kinds) if kind.priority == priority]
            every = sum(self._kinds[number].pods for number in own)
            self._cp.add(cp_model.LinearExpr.sum([self._left[number] for number in own]) <= every - pods)

    def _use_room(self, row: int) -> None:
        """What nodes leave free is what all have, less what all pods with a place want.

        This follows from all the rest, but the solver would find out only pattern by pattern.
        """
        unit = math.gcd(*(int(kind.wanted[row]) for kind in self._kinds)) or 1
        wants = [int(kind.wanted[row]) // unit for kind in self._kinds]
        variables, free, every = [], [], 0
        for group, times in zip(self._groups, self._times, strict=True):
            room = int(group.free[row]) // unit
            every += room * len(group.nodes)
            variables += times
            free += [room - sum(wants[kind] * pods for kind, pods in pattern) for pattern in group.patterns]
        asked = sum(want * kind.pods for want, kind in zip(wants, self._kinds, strict=True))
        self._cp.add(
            cp_model.LinearExpr.weighted_sum([*variables, *self._left], [*free, *(-want for want in wants)])
            == every - asked
        )

    def solve(self, meter: Meter, work: float) -> dict[tuple[int, int], int] | bool | None:
        """Pods by kind and node; False when no patterns do it, None when that stayed open."""
        result = solved(self._cp, meter, work)
        if not result.found:
            return False if result.impossible else None
        found = {}
        for group, times in zip(self._groups, self._times, strict=True):
            numbers = np.array([result.solver.value(variable) for variable in times], np.int64)
            chosen = np.repeat(np.arange(len(times)), numbers).tolist()
            for node, number in zip(group.nodes, chosen, strict=True):
                found.update({(kind, node): pods for kind, pods in group.patterns[number]})
        return found
