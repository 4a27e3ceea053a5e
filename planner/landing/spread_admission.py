"""Where the spread constraints of a replacement admit it for given counts, with or without a pin.

A pin hides domains from constraints that honour affinity.  So it may close nodes, and it may open nodes that
the pod's own spec rejects; a pin that would do so is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from planner.landing.constraint_status import ConstraintOverCells, NodeCounts, OccupancyHistogram, PinnedCells

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
