"""Where the spread constraints of a replacement let it come, as counts may be, free or with a pin.

A pin hides domains from constraints that honour affinity.  So it may close nodes, and it may open some that
the pod's own spec refuses; where it would, nothing is admitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planner.landing.constraint_status import ConstraintOverCells, NodeCounts, OccupancyHistogram, PinnedCells

#: A cell and the level of the node in it that a pod may come to.
Option = tuple[int, NodeCounts]


class Restriction(NamedTuple):
    """What a replacement is held to: these options, and any in these cells.

    `pinned` says by its own spec, to how many nodes of some cells, and whether these are all.
    """

    options: frozenset[Option]
    cells: frozenset[int]
    pinned: tuple[PinnedCells, ...] | None = None

    def allows(self, option: Option) -> bool:
        """Whether it may come to this."""
        return option[0] in self.cells or option in self.options


class SpreadAdmission:
    """What the hard constraints of some templates admit over the cells of a crowd."""

    def __init__(
        self,
        carried: Mapping[int, Sequence[ConstraintOverCells]],
        static: Mapping[int, Sequence[bool]],
        kept: int,
    ) -> None:
        """`carried` are each template's own hard constraints, `static` the cells that nothing else closes.

        Of about so many tableaus what was found is kept.
        """
        self._carried = carried
        self._static = static
        self._kept = kept
        self._known: dict[tuple[OccupancyHistogram, int, Restriction | None], frozenset[Option]] = {}

    def options(
        self, histogram: OccupancyHistogram, template: int, held: Restriction | None
    ) -> frozenset[Option]:
        """Where the filters of spread, and all that never change, let a replacement come."""
        key = histogram, template, held
        found = self._known.get(key)
        if found is None:
            if len(self._known) > 10 * self._kept:
                self._known.clear()
            found = self._known[key] = self._options(histogram, template, held)
        return found

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
                    # The pin hides what keeps others off: who knows where the replacement ends.
                    return frozenset()
                if fits:
                    found.add((cell, level))
        return frozenset(found)

    @staticmethod
    def _limits(
        over_cells: ConstraintOverCells, histogram: OccupancyHistogram, pinned: Iterable[PinnedCells] | None
    ) -> tuple[int, int]:
        """The most pods of a domain that still let one more come: by all rules, and as a pin may show it."""
        least = most = over_cells.minimum(histogram)
        if pinned is not None and over_cells.honors:
            low, most = over_cells.minima_pinned(histogram, pinned)
            least = min(least, low)
        spare = over_cells.max_skew - over_cells.own
        return least + spare, most + spare

    def limits_of_nodes(
        self, histogram: OccupancyHistogram, template: int, held: Restriction | None
    ) -> Iterator[tuple[ConstraintOverCells, int]]:
        """A template's constraints over single nodes, and the most pods of a node that let one more come."""
        pinned = None if held is None else held.pinned
        for over_cells in self._carried[template]:
            if over_cells.by_node:
                yield over_cells, self._limits(over_cells, histogram, pinned)[0]
