"""One spread constraint over an occupancy histogram: sums, minimum and violations, and where it admits a pod.

A pin hides domains from constraints that honour affinity.  So it may close nodes, and it may open nodes that
the pod's own spec rejects; a pin that would do so is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from planner.moves.constraint_counts import TrackedConstraint, fewest_moves
from planner.problem.nodes import Codes
from planner.proof import effort

#: For every tally of the coupled constraints, the pods on a node.
NodeCounts = tuple[int, ...]
#: For every cell, its distinct node counts with the number of nodes that have them.
OccupancyHistogram = tuple[tuple[tuple[NodeCounts, int], ...], ...]


class ConstraintStatus(NamedTuple):
    """How far a constraint is violated: moves needed, pods too many, domains with too many."""

    needed: int
    excess: int
    violated: int


class PinnedCells(NamedTuple):
    """How many nodes of a cell a pin names, and whether these are all nodes of the cell."""

    cell: int
    nodes: int
    whole: bool


class ConstraintOverCells:
    """One constraint, evaluated on cells of nodes instead of single nodes."""

    def __init__(
        self, constraint: TrackedConstraint, tally: int, held: int, representative: Codes, kept: int
    ) -> None:
        """Results for about 10 x `kept` histograms are cached."""
        rule = constraint.rule
        self.constraint = constraint
        self.tally, self.held = tally, held
        self.max_skew = constraint.max_skew
        self.own = rule.own
        self.few = rule.few_domains
        self.min_domains = rule.constraint.min_domains or 1
        self.honors = rule.constraint.node_affinity_policy == "Honor"
        self.by_node = constraint.by_node
        self.code: list[int] = rule.column.codes[representative].tolist()
        self.counts: list[bool] = rule.counts.eligible[representative].tolist()
        self._all_count = all(self.counts)
        self.domains: list[int] = np.flatnonzero(rule.counts.domains).tolist()
        self._sums = lru_cache(10 * kept)(self._sums_of)
        #: The global minimum in a histogram, over nodes or over shared domains.
        self.minimum = lru_cache(10 * kept)(self._minimum)

    def sums(
        self, histogram: OccupancyHistogram, tally: int, *, everywhere: bool = False
    ) -> Mapping[int, int]:
        """The pods of every domain; of ineligible cells only with `everywhere`."""
        return self._sums(histogram, tally, everywhere or self._all_count)

    def _sums_of(self, histogram: OccupancyHistogram, tally: int, everywhere: bool) -> dict[int, int]:
        found = dict.fromkeys(self.domains, 0)
        for code, counts, levels in zip(self.code, self.counts, histogram, strict=True):
            if code >= 0 and (everywhere or counts):
                pods = found.get(code, 0)
                for level, nodes in levels:
                    pods += level[tally] * nodes
                found[code] = pods
        return found

    def _minimum(self, histogram: OccupancyHistogram) -> int:
        if self.few:
            return 0
        if self.by_node:
            inside = (levels for levels, counts in zip(histogram, self.counts, strict=True) if counts)
            return min((level[self.tally] for levels in inside for level, _ in levels), default=0)
        sums = self.sums(histogram, self.tally)
        return min((sums[code] for code in self.domains), default=0)

    def minima_pinned(self, histogram: OccupancyHistogram, pinned: Iterable[PinnedCells]) -> tuple[int, int]:
        """The lowest and the highest possible global minimum for a pod that is pinned to these nodes.

        Which nodes of a cell the pin names is not known, nor how many of the cell's pods are on them.
        """
        inside = [one for one in pinned if self.counts[one.cell] and self.code[one.cell] >= 0]
        minimum = self.minimum(histogram)
        if self.by_node:
            domains = sum(one.nodes for one in inside)
            most = min((self._from_above(histogram[one.cell], one.nodes) for one in inside), default=0)
            return minimum if domains >= self.min_domains else 0, most
        codes, sums = {self.code[one.cell] for one in inside}, self.sums(histogram, self.tally)
        there = [cell for cell, code in enumerate(self.code) if code in codes and self.counts[cell]]
        whole = {one.cell for one in inside if one.whole}.issuperset(there)
        # A single visible domain is its own minimum.
        enough = (whole or len(codes) == 1) and len(codes) >= self.min_domains
        found = [sums[code] for code in codes]
        return minimum if enough else 0, (min if whole else max)(found, default=0)

    def _from_above(self, levels: Iterable[tuple[NodeCounts, int]], nodes: int) -> int:
        """The pods on the emptiest of the `nodes` fullest nodes of a cell."""
        pods = 0
        for level, number in sorted(levels, key=lambda one: -one[0][self.tally]):
            pods = level[self.tally]
            nodes -= number
            if nodes <= 0:
                break
        return pods

    def status(self, histogram: OccupancyHistogram) -> ConstraintStatus:
        """How far the constraint is violated."""
        most = self.minimum(histogram) + self.max_skew
        if self.by_node:
            over = [
                (level[self.tally] - most, nodes)
                for cell, levels in enumerate(histogram)
                if self.counts[cell]
                for level, nodes in levels
                if level[self.held] and level[self.tally] > most
            ]
            excess, violated = sum(pods * nodes for pods, nodes in over), sum(nodes for _, nodes in over)
        else:
            high = {code: pods for code, pods in self.sums(histogram, self.tally).items() if pods > most}
            held = self.sums(histogram, self.held, everywhere=True) if high else {}
            found = [pods - most for code, pods in high.items() if held.get(code)]
            excess, violated = sum(found), len(found)
        return ConstraintStatus(self._needed(histogram) if excess else 0, excess, violated)

    def _needed(self, histogram: OccupancyHistogram) -> int:
        if len(self.domains) > effort.DOMAINS_FOLLOWED:
            return 0
        if self.by_node:
            levels = [
                (level[self.tally], nodes)
                for cell, found in enumerate(histogram)
                if self.counts[cell]
                for level, nodes in found
            ]
            counts = np.repeat([pods for pods, _ in levels], [nodes for _, nodes in levels])
        else:
            sums = self.sums(histogram, self.tally)
            counts = np.array([sums[code] for code in self.domains], np.int64)
        least = fewest_moves(counts, self.max_skew, few_domains=self.few)
        return -1 if least is None else least[0]


#: A cell, and the counts of the node in it that a pod may land on.
Option = tuple[int, NodeCounts]


class Restriction(NamedTuple):
    """What a replacement is restricted to: these options, and any in these cells.

    `pinned` says, if a pin restricts it, how many nodes of which cells the pin names.
    """

    options: frozenset[Option]
    cells: frozenset[int]
    pinned: tuple[PinnedCells, ...] | None = None

    def allows(self, option: Option) -> bool:
        """Whether the replacement may land on this option."""
        return option[0] in self.cells or option in self.options


class SpreadAdmission:
    """The options that the hard constraints of some templates admit."""

    def __init__(
        self,
        carried: Mapping[int, Sequence[ConstraintOverCells]],
        static: Mapping[int, Sequence[bool]],
        kept: int,
    ) -> None:
        """`carried` are each template's own hard constraints, `static` the cells that pass static filters.

        Results for about 10 x `kept` histograms are cached.
        """
        self._carried = carried
        self._static = static
        #: The options that pass the filters of spread and those whose answer never changes.
        self.options = lru_cache(10 * kept)(self._options)

    def _options(
        self, histogram: OccupancyHistogram, template: int, held: Restriction | None
    ) -> frozenset[Option]:
        found: set[Option] = set()
        pinned = None if held is None else held.pinned
        limits = [
            (over_cells, *self._limits(over_cells, histogram, pinned))
            for over_cells in self._carried[template]
        ]
        sums = {id(f): f.sums(histogram, f.tally) for f, *_ in limits if not f.by_node}
        for cell, levels in enumerate(histogram):
            if not self._static[template][cell] or any(f.code[cell] < 0 for f, *_ in limits):
                continue
            for level, _ in levels:
                if held is not None and not held.allows((cell, level)):
                    continue
                fits = opens = True
                for over_cells, most, with_pin in limits:
                    here = (
                        (level[over_cells.tally] if over_cells.counts[cell] else 0)
                        if over_cells.by_node
                        else sums[id(over_cells)].get(over_cells.code[cell], 0)
                    )
                    fits, opens = fits and here <= most, opens and here <= with_pin
                if opens and not fits:
                    # The pin opens an option that the unpinned spec rejects: the landing would be unsafe.
                    return frozenset()
                if fits:
                    found.add((cell, level))
        return frozenset(found)

    @staticmethod
    def _limits(
        over_cells: ConstraintOverCells, histogram: OccupancyHistogram, pinned: Iterable[PinnedCells] | None
    ) -> tuple[int, int]:
        """The most pods in a domain that still admit one more: for certain, and at most with the pin."""
        least = most = over_cells.minimum(histogram)
        if pinned is not None and over_cells.honors:
            low, most = over_cells.minima_pinned(histogram, pinned)
            least = min(least, low)
        spare = over_cells.max_skew - over_cells.own
        return least + spare, most + spare

    def limits_of_nodes(
        self, histogram: OccupancyHistogram, template: int, held: Restriction | None
    ) -> Iterator[tuple[ConstraintOverCells, int]]:
        """A template's constraints over single nodes, with the most pods on a node that admit one more."""
        pinned = None if held is None else held.pinned
        for over_cells in self._carried[template]:
            if over_cells.by_node:
                yield over_cells, self._limits(over_cells, histogram, pinned)[0]
