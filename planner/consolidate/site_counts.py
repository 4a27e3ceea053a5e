"""How many pods of every template are on every node: only where there are any, as most pairs have none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.cpsat.kept import Site
from planner.problem.nodes import Codes, Ints, Mask


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
