"""Pods and nodes as vectors of resources: what a packing search works on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.batch.pending import Pending
from planner.problem.nodes import Codes, Ints, Mask
from planner.scheduler.order import Step

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How many pods of each template come to each node, and how many of those running there stay."""

    coming: Mapping[Step, int]
    staying: Mapping[Step, int]

    @staticmethod
    def of(there: Counter[Step], running: Mapping[Step, Collection[int]]) -> Arrangement:
        """So many pods on every node; as many stay as run where their template goes on."""
        staying = Counter({step: min(there[step], len(pods)) for step, pods in running.items()})
        return Arrangement(there - staying, +staying)


class Units:
    """Pods with what each wants, nodes with what they have, and which may go where.

    `of` is the kind of every pod, a row of `allowed`; `current` the node it runs on, -1 for none.
    Amounts are whole numbers as floats, exact as long as they stay below 2**53.
    """

    of: Codes
    current: Codes
    wanted: Floats
    free: Floats
    priority: Ints
    allowed: Mask
    #: For every priority how many pods run on closed nodes, where they stay out of all this.
    aside: Mapping[int, int] = {}

    def _measure(self) -> None:
        """Take the sizes from what is set."""
        self.unit: Floats = np.maximum(self.free.mean(axis=0), 1)
        self.nodes, self.pods = len(self.free), len(self.of)


class Vectors(Units):
    """Every pod of a batch and every node; overcommitted nodes are closed to all."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending
        self._templates = list(pending.pods)
        state, problem = pending.state, pending.problem
        amounts = pending.room_needed[self._templates].astype(np.float64)
        rows = np.flatnonzero(amounts.any(axis=0))
        free = (problem.allocatable - state.used)[rows].T.astype(np.float64)
        self.closed = self._closed(amounts[:, rows], free)
        self.of, self.current = self._units()
        self.aside = self._aside()
        self.wanted = amounts[self.of][:, rows]
        self.free = np.maximum(free, 0)
        self.priority = np.array([pending.priority(number) for number in self._templates])[self.of]
        self.allowed = self._allowed()
        self._measure()

    def _closed(self, amounts: Floats, free: Floats) -> Mask:
        load = np.zeros_like(free)
        position_of = {number: position for position, number in enumerate(self._templates)}
        for (number, node), pods in self._pending.running.items():
            load[node] += amounts[position_of[number]] * len(pods)
        closed: Mask = np.any(load > free, axis=1)
        return closed

    def _units(self) -> tuple[Codes, Codes]:
        """The template, by position, and the current node of every pod that takes part."""
        there: dict[int, list[int]] = defaultdict(list)
        for (number, node), pods in self._pending.running.items():
            if not self.closed[node]:
                there[number] += [node] * len(pods)
        of, current = [], []
        for position, number in enumerate(self._templates):
            nodes = [*there[number], *[-1] * len(self._pending.pods[number])]
            of += [position] * len(nodes)
            current += nodes
        return np.array(of, np.intp), np.array(current, np.intp)

    def _aside(self) -> dict[int, int]:
        """For every priority how many pods run on closed nodes, where they stay out of all this."""
        found = dict.fromkeys(self._pending.priorities, 0)
        for (number, node), pods in self._pending.running.items():
            found[self._pending.priority(number)] += len(pods) if self.closed[node] else 0
        return found

    def _allowed(self) -> Mask:
        """For every template, by position, the nodes that take one of its pods at all."""
        room = self._pending.room(self._pending.wanted)
        may_come = np.array([room[number] > 0 for number in self._templates])
        return may_come & ~self.closed

    def arrangement(self, at: Codes) -> Arrangement:
        """The pods by template and node; those that run on closed nodes stay."""
        pods = zip(self.of.tolist(), at.tolist(), strict=True)
        there = Counter((self._templates[position], node) for position, node in pods if node < self.nodes)
        for step, running in self._pending.running.items():
            there[step] += len(running) if self.closed[step[1]] else 0
        return Arrangement.of(there, self._pending.running)

    def places(self, arrangement: Arrangement) -> Codes:
        """The node of each pod in an arrangement, `nodes` for none; pods that stay are where they run."""
        coming, staying = Counter(arrangement.coming), Counter(arrangement.staying)
        at = np.full(self.pods, self.nodes, np.intp)
        for pod, (position, current) in enumerate(zip(self.of.tolist(), self.current.tolist(), strict=True)):
            if staying[self._templates[position], current] > 0:
                staying[self._templates[position], current] -= 1
                at[pod] = current
        targets: dict[int, list[int]] = {}
        for (number, node), pods in sorted(coming.items(), reverse=True):
            targets.setdefault(number, []).extend([node] * pods)
        for pod in np.flatnonzero(at == self.nodes).tolist():
            found = targets.get(self._templates[self.of[pod]])
            if found:
                at[pod] = found.pop()
        return at
