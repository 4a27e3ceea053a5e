"""One spread constraint over an occupancy histogram: sums, minimum and violations, and where it admits a pod.

A pin hides domains from constraints that honour affinity.  So it may close nodes, and it may open nodes that
the pod's own spec rejects; a pin that would do so is not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from planner.moves.constraint_counts import TrackedConstraint
from planner.problem.nodes import Codes

#: For every tally of the coupled constraints, the pods on a node.
NodeCounts = tuple[int, ...]
#: For every cell, its distinct node counts with the number of nodes that have them.
OccupancyHistogram = tuple[tuple[tuple[NodeCounts, int], ...], ...]


class ConstraintStatus(NamedTuple):
    """How far a constraint is violated: pods too many, domains with too many."""

    excess: int
    violated: int


class PinnedCell(NamedTuple):
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
        self.constraint = constraint
        rule = self._rule = constraint.rule
        self.tally, self.held = tally, held
        self.by_node = constraint.by_node
        self.domain_of: list[int] = rule.column.codes[representative].tolist()
        self.eligible: list[bool] = rule.counts.eligible[representative].tolist()
        self.domains: list[int] = np.flatnonzero(rule.counts.domains).tolist()
        #: For every domain the counted pods, and the pods with the constraint on any of its nodes.
        self.sums = lru_cache(10 * kept)(self._sums)
        #: The global minimum in a histogram, over nodes or over shared domains.
        self.minimum = lru_cache(10 * kept)(self._minimum)

    def _sums(self, histogram: OccupancyHistogram) -> dict[int, tuple[int, int]]:
        found = dict.fromkeys(self.domains, (0, 0))
        for code, eligible, inside in zip(self.domain_of, self.eligible, histogram, strict=True):
            if code >= 0:
                pods, held = found.get(code, (0, 0))
                pods += eligible * sum(counts[self.tally] * nodes for counts, nodes in inside)
                found[code] = pods, held + sum(counts[self.held] * nodes for counts, nodes in inside)
        return found

    def _occupied(self, histogram: OccupancyHistogram) -> list[tuple[int, int, int]]:
        """Counted pods, pods with the constraint, and the number of domains that hold so many of both."""
        if self.by_node:
            cells = (inside for inside, eligible in zip(histogram, self.eligible, strict=True) if eligible)
            return [
                (counts[self.tally], counts[self.held], nodes) for inside in cells for counts, nodes in inside
            ]
        sums = self.sums(histogram)
        return [(*sums[code], 1) for code in self.domains]

    def _minimum(self, histogram: OccupancyHistogram) -> int:
        pods = (pods for pods, *_ in self._occupied(histogram))
        return 0 if self._rule.few_domains else min(pods, default=0)

    def _minima_pinned(self, histogram: OccupancyHistogram, pinned: Iterable[PinnedCell]) -> tuple[int, int]:
        """The lowest and the highest possible global minimum for a pod that is pinned to these nodes.

        Which nodes of a cell the pin names is not known, nor how many of the cell's pods are on them.
        """
        inside = [one for one in pinned if self.eligible[one.cell] and self.domain_of[one.cell] >= 0]
        minimum, least = self.minimum(histogram), self._rule.constraint.min_domains or 1
        if self.by_node:
            domains = sum(one.nodes for one in inside)
            fullest = (max(counts[self.tally] for counts, _ in histogram[one.cell]) for one in inside)
            most = min(fullest, default=0)
            return minimum if domains >= least else 0, most
        codes, sums = {self.domain_of[one.cell] for one in inside}, self.sums(histogram)
        there = [cell for cell, code in enumerate(self.domain_of) if code in codes and self.eligible[cell]]
        whole = {one.cell for one in inside if one.whole}.issuperset(there)
        # A single visible domain is its own minimum.
        enough = (whole or len(codes) == 1) and len(codes) >= least
        found = [sums[code][0] for code in codes]
        return minimum if enough else 0, (min if whole else max)(found, default=0)

    def limits(self, histogram: OccupancyHistogram, pinned: Iterable[PinnedCell] | None) -> tuple[int, int]:
        """The most pods in a domain that still admit one more: for certain, and at most with the pin."""
        least = most = self.minimum(histogram)
        if pinned is not None and self._rule.constraint.node_affinity_policy == "Honor":
            low, most = self._minima_pinned(histogram, pinned)
            least = min(least, low)
        spare = self.constraint.max_skew - self._rule.own
        return least + spare, most + spare

    def pods_at(self, histogram: OccupancyHistogram, cell: int, counts: NodeCounts) -> int:
        """The counted pods in the domain of a node of a cell with these counts."""
        if self.by_node:
            return counts[self.tally] if self.eligible[cell] else 0
        return self.sums(histogram)[self.domain_of[cell]][0]

    def status(self, histogram: OccupancyHistogram) -> ConstraintStatus:
        occupied, most = self._occupied(histogram), self.minimum(histogram) + self.constraint.max_skew
        over = [(pods - most, nodes) for pods, held, nodes in occupied if held and pods > most]
        excess, violated = sum(pods * nodes for pods, nodes in over), sum(nodes for _, nodes in over)
        return ConstraintStatus(excess, violated)


#: A cell, and the counts of the node in it that a pod may land on.
Option = tuple[int, NodeCounts]


class Restriction(NamedTuple):
    """What a replacement is restricted to: these options, and any in these cells.

    `pinned` says, if a pin restricts it, how many nodes of which cells the pin names.
    """

    options: frozenset[Option]
    cells: frozenset[int]
    pinned: tuple[PinnedCell, ...] | None = None

    def allows(self, option: Option) -> bool:
        return option[0] in self.cells or option in self.options
