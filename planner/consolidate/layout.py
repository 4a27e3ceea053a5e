"""Where movable pods are while a consolidation is searched for: how many of each template on every node.

Pods of one template are interchangeable, so a layout is counts.  The pods that stay are as many as
ran on a node before, at most; which of them go is decided at the end, the cheapest first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.removable import Removable, goes_with_its_node
from planner.constraints.family import PLENTY
from planner.cpsat.kept import Site
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes, Ints, Mask
from planner.problem.problem import Problem
from planner.state.state import State


@dataclass(frozen=True, slots=True)
class SiteCounts:
    """A number for every pair of a template and a node; what is not listed is 0.

    `keys` are the numbers of the pairs, ascending: of each template the nodes one after the other.
    """

    size: int
    keys: Ints
    numbers: Ints

    @classmethod
    def of(cls, size: int, templates: Codes, nodes: Codes, numbers: Ints | None = None) -> SiteCounts:
        """Pairs on so many nodes, each as often as it is named, or by the sum of its numbers."""
        named = templates.astype(np.int64) * size + nodes
        if numbers is None:
            return cls(size, *np.unique(named, return_counts=True))
        keys, codes = np.unique(named, return_inverse=True)
        summed = np.zeros(len(keys), np.int64)
        np.add.at(summed, codes, numbers)
        return cls(size, keys[summed != 0], summed[summed != 0])

    @classmethod
    def at_sites(cls, size: int, sites: Mapping[Site, int]) -> SiteCounts:
        """The numbers of some pairs on so many nodes."""
        pairs = np.array([*sites], np.int64).reshape(-1, 2)
        return cls.of(size, pairs[:, 0], pairs[:, 1], np.array([*sites.values()], np.int64))

    @property
    def templates(self) -> Codes:
        return self.keys // self.size

    @property
    def nodes(self) -> Codes:
        return self.keys % self.size

    def row(self, template: int) -> Ints:
        found = np.zeros(self.size, np.int64)
        first, end = np.searchsorted(self.keys, (template * self.size, (template + 1) * self.size))
        found[self.keys[first:end] - template * self.size] = self.numbers[first:end]
        return found

    def at(self, template: int, node: int) -> int:
        key = template * self.size + node
        place = int(np.searchsorted(self.keys, key))
        return int(self.numbers[place]) if place < len(self.keys) and self.keys[place] == key else 0

    def per_node(self, amounts: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """For every node how many pods it holds, each counted so much as its template."""
        weights = self.numbers * (1.0 if amounts is None else amounts[self.templates])
        return np.asarray(np.bincount(self.nodes, weights, minlength=self.size), np.float64)

    def where(self, nodes: Mask) -> SiteCounts:
        """The pairs on some nodes."""
        inside = nodes[self.nodes]
        return SiteCounts(self.size, self.keys[inside], self.numbers[inside])

    def plus(self, other: SiteCounts) -> SiteCounts:
        """The sum of both."""
        return SiteCounts.of(
            self.size,
            np.concatenate((self.templates, other.templates)),
            np.concatenate((self.nodes, other.nodes)),
            np.concatenate((self.numbers, other.numbers)),
        )

    def more_than(self, other: SiteCounts) -> SiteCounts:
        """The pairs of which there are more than in another table, and how many more."""
        change = self.plus(SiteCounts(other.size, other.keys, -other.numbers))
        more = change.numbers > 0
        return SiteCounts(self.size, change.keys[more], change.numbers[more])

    def sites(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.templates.tolist(), self.nodes.tolist(), self.numbers.tolist(), strict=True)


#: Two or three such sums together stay below 2^63.
MOST_IN_SUM = 1 << 61


@dataclass(frozen=True, slots=True)
class Reserve:
    """Room that stays free, in exact thousandths: what nodes bring of each resource beyond what pods need.

    `brings[resource, node]` goes with a node, and no more than `spare[resource]` may go.
    """

    spare: Ints
    brings: Ints

    @classmethod
    def of(cls, trial: TrialCluster, movable: Movable, thousandths: int) -> Reserve:
        """So many thousandths of every resource of the nodes that are kept are to be free.

        Of what a node leaves to devices there is no end.
        """
        problem = trial.problem
        state = State(problem)
        thousand = thousand_for(state)
        staying = np.flatnonzero((problem.node_of >= 0) & (movable.weights == 0)).tolist()
        going = state.load_of(np.array([pod for pod in staying if goes_with_its_node(problem, pod)], np.intp))
        usable = (thousand - thousandths) * problem.allocatable
        usable[trial.left_to_devices] = 1000 * PLENTY
        return cls((usable - thousand * state.used).sum(axis=1), usable - thousand * going)

    def lacks(self, removed: Mask) -> bool:
        """Whether too little is free without some nodes."""
        return bool((self.brings[:, removed].sum(axis=1) > self.spare).any())

    def with_(self, other: Reserve | None) -> Reserve:
        """Both of two requirements."""
        if other is None:
            return self
        spare, brings = (self.spare, other.spare), (self.brings, other.brings)
        return Reserve(np.concatenate(spare), np.concatenate(brings))


def in_64_bits(
    spare: int, brings: Mapping[int, int], nodes: Iterable[int] = repeat(1)
) -> tuple[int, Mapping[int, int]]:
    """What may go and what each of so many `nodes` of a cell brings, as models count it.

    Numbers that are too large for that are rounded so that more may go.
    """
    together = sum(abs(number) * many for number, many in zip(brings.values(), nodes, strict=False))
    unit = 1 + (abs(spare) + together) // MOST_IN_SUM
    return -(-spare // unit), {cell: number // unit for cell, number in brings.items()}


def thousand_for(state: State) -> Ints:
    """A thousand to multiply amounts with, as an integer of Python's where 64 bits cannot count the sums."""
    amounts = np.concatenate((state.problem.allocatable, state.used)).sum(axis=1)
    return np.full(1, 1000, np.int64 if amounts.max(initial=0) < MOST_IN_SUM // 1000 else object)


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What the user asks for: free room that remains of every resource, and the most moves."""

    reserve: Reserve | None = None
    most_moves: int | None = None

    def lacks_room(self, removed: Mask) -> bool:
        """Whether too little is free without some nodes."""
        return self.reserve is not None and self.reserve.lacks(removed)


@dataclass(frozen=True, slots=True)
class Layout:
    """Counts of movable pods by template and node, with the nodes that go."""

    counts: SiteCounts
    removed: Mask

    def moves(self, before: Layout) -> int:
        return int(before.counts.more_than(self.counts).numbers.sum())

    def after(self, trial: TrialCluster, moves: Iterable[Move], removed: Mask) -> Layout:
        """The layout after some moves in a cluster, when some nodes go."""
        change = Counter[Site]()
        for move in moves:
            template = trial.template(move.pod)
            change[template, move.source] -= 1
            change[template, move.target] += 1
        return Layout(self.counts.plus(SiteCounts.at_sites(self.counts.size, change)), removed)


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What searches are about: a cluster whose state follows, what may move or go, and limits."""

    trial: TrialCluster
    movable: Movable
    removable: Removable
    before: Layout
    limits: PlanLimits = PlanLimits()

    def read(self, removed: Mask) -> Layout:
        """The layout of the trial cluster's state without some nodes."""
        return Layout(_counts(self.trial.problem, self.movable, self.trial.state.node_of), removed.copy())

    def movable_on(self, node: int) -> list[int]:
        return [pod for pod in self.trial.state.pods_on[node] if self.movable.weights[pod]]


def first_layout(problem: Problem, movable: Movable) -> Layout:
    """The snapshot's own layout, in which no node goes."""
    return Layout(_counts(problem, movable, problem.node_of), problem.nodes.none.copy())


def _counts(problem: Problem, movable: Movable, node_of: Codes) -> SiteCounts:
    pods = np.flatnonzero(movable.weights)
    return SiteCounts.of(problem.nodes.size, problem.template_of[pods], node_of[pods])


def moves_to(problem: Problem, movable: Movable, before: Layout, after: Layout) -> list[Move]:
    """The moves that lead from one layout to another; pods of a low priority or deletion cost go first."""
    leave, come = before.counts.more_than(after.counts), after.counts.more_than(before.counts)
    going, targets = defaultdict[int, dict[int, int]](dict), defaultdict[int, list[int]](list)
    for template, node, number in leave.sites():
        going[template][node] = number
    for template, node, number in come.sites():
        targets[template] += [node] * number
    return [
        Move(pod, node, targets[template].pop())
        for template in movable.templates
        if template in going
        for pod, node in _leaving(problem, movable, template, going[template])
    ]


def _leaving(
    problem: Problem, movable: Movable, template: int, numbers: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """So many pods of a template on each of some nodes, each with its node, the cheapest to evict first."""
    on: dict[int, list[int]] = {node: [] for node in numbers}
    pods = movable.of(template)
    for pod, node in zip(pods.tolist(), problem.node_of[pods].tolist(), strict=True):
        if node in on:
            on[node].append(pod)
    for node, number in numbers.items():
        for pod in sorted(on[node], key=movable.weights.__getitem__)[:number]:
            yield pod, node


def filled(state: State, nodes: Codes | Mask | int | slice = slice(None)) -> NDArray[np.float64]:
    """The share of nodes that is requested, of the resource of which it is the largest."""
    room = np.maximum(state.problem.allocatable[:, nodes], 1)
    return np.asarray((state.used[:, nodes] / room).max(axis=0))


def shares(problem: Problem) -> NDArray[np.float64]:
    """How large a pod of each template is: its largest share of what an average node has."""
    average = np.maximum(problem.allocatable.sum(axis=1) / max(1, problem.nodes.size), 1)
    wants = np.array([template.requests for template in problem.templates]).reshape(-1, len(average))
    return np.asarray((wants / average).max(axis=1, initial=0.0))
