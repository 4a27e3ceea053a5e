"""Where the spread constraints of a replacement let it come, as counts may be, free or with a pin.

A pin hides domains from constraints that honour affinity.  So it may close nodes, and it may open some that
the pod's own spec refuses; where it would, nothing is admitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planner.rebalance.figures import Figures, Level, Pinned, Tableau

#: A cell and the level of the node in it that a pod may come to.
Option = tuple[int, Level]


class Restriction(NamedTuple):
    """What a replacement is held to: these options, and any in these cells.

    `pinned` says by its own spec, to how many nodes of some cells, and whether these are all.
    """

    options: frozenset[Option]
    cells: frozenset[int]
    pinned: tuple[Pinned, ...] | None = None

    def allows(self, option: Option) -> bool:
        """Whether it may come to this."""
        return option[0] in self.cells or option in self.options


class Admission:
    """What the hard constraints of some templates admit over the cells of a crowd."""

    def __init__(
        self,
        carried: Mapping[int, Sequence[Figures]],
        settled: Mapping[int, Sequence[bool]],
        kept: int,
    ) -> None:
        """`carried` are each template's own hard constraints, `settled` the cells that nothing else closes.

        Of about so many tableaus what was found is kept.
        """
        self._carried = carried
        self._settled = settled
        self._kept = kept
        self._known: dict[tuple[Tableau, int, Restriction | None], frozenset[Option]] = {}

    def options(self, tableau: Tableau, template: int, held: Restriction | None) -> frozenset[Option]:
        """Where the filters of spread, and all that never change, let a replacement come."""
        key = tableau, template, held
        found = self._known.get(key)
        if found is None:
            if len(self._known) > 10 * self._kept:
                self._known.clear()
            found = self._known[key] = self._options(tableau, template, held)
        return found

    def _options(self, tableau: Tableau, template: int, held: Restriction | None) -> frozenset[Option]:
        found: set[Option] = set()
        pinned = None if held is None else held.pinned
        limits = [(figures, *self._limits(figures, tableau, pinned)) for figures in self._carried[template]]
        sums = {id(f): f.sums(tableau, f.tally) for f, *_ in limits if not f.by_node}
        for cell, levels in enumerate(tableau):
            if not self._settled[template][cell] or any(f.code[cell] < 0 for f, *_ in limits):
                continue
            for level, _ in levels:
                if held is not None and not held.allows((cell, level)):
                    continue
                fits = opens = True
                for figures, most, with_pin in limits:
                    here = (
                        (level[figures.tally] if figures.counts[cell] else 0)
                        if figures.by_node
                        else sums[id(figures)].get(figures.code[cell], 0)
                    )
                    fits, opens = fits and here <= most, opens and here <= with_pin
                if opens and not fits:
                    # The pin hides what keeps others off: who knows where the replacement ends.
                    return frozenset()
                if fits:
                    found.add((cell, level))
        return frozenset(found)

    @staticmethod
    def _limits(figures: Figures, tableau: Tableau, pinned: Iterable[Pinned] | None) -> tuple[int, int]:
        """The most pods of a domain that still let one more come: by all rules, and as a pin may show it."""
        least = most = figures.minimum(tableau)
        if pinned is not None and figures.honors:
            low, most = figures.minima_pinned(tableau, pinned)
            least = min(least, low)
        spare = figures.max_skew - figures.own
        return least + spare, most + spare

    def limits_of_nodes(
        self, tableau: Tableau, template: int, held: Restriction | None
    ) -> Iterator[tuple[Figures, int]]:
        """A template's constraints over single nodes, and the most pods of a node that let one more come."""
        pinned = None if held is None else held.pinned
        for figures in self._carried[template]:
            if figures.by_node:
                yield figures, self._limits(figures, tableau, pinned)[0]
