"""Groups of nodes that the solver may treat as one: every node by itself, or all that are alike.

5,000 nodes are a few dozen cells when only domains and eligibility tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.problem.nodes import Codes, Ints, Mask
from planner.proof.effort import STANDARD


def numbered(size: int, traits: Iterable[NDArray[np.integer] | Mask]) -> Codes:
    """A number for every node, equal for nodes with equal traits; each trait has a value for every node."""
    of = np.zeros(size, np.int64)
    for trait in traits:
        values = trait.astype(np.int64)
        values -= values.min(initial=0)
        of = np.unique(of * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1]
    return of.astype(np.intp)


class NodeGroups:
    """A partition of the nodes: the cell of every node, and a node that stands for each cell."""

    def __init__(self, of: Codes) -> None:
        self.of = of
        self.size = int(of.max()) + 1 if of.size else 0
        self.nodes_in: Ints = np.bincount(of, minlength=self.size)
        self.first: Codes = np.unique(of, return_index=True)[1].astype(np.intp)
        #: Whether every node is the cell of its own number.
        self.single = bool((of == np.arange(len(of))).all())

    @classmethod
    def single_nodes(cls, size: int) -> NodeGroups:
        """Every node by itself."""
        return cls(np.arange(size, dtype=np.intp))

    @classmethod
    def alike(
        cls,
        size: int,
        traits: Iterable[NDArray[np.generic]],
        most: int,
        least_alike: int = STANDARD.cells.least_alike,
    ) -> NodeGroups:
        """Nodes together that no trait tells apart; each trait has a value for every node.

        Traits of which fewer than `least_alike` nodes share a value on average, as of the hostname, are
        passed over, and so are those that would make more than `most` cells.
        """
        of, seen = np.zeros(size, np.intp), set[bytes]()
        for trait in traits:
            key = trait.tobytes()
            if key in seen:
                continue
            seen.add(key)
            kinds, codes = np.unique(trait, return_inverse=True)
            if len(kinds) * least_alike > size:
                continue
            values, finer = np.unique(of * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
            if len(values) <= most:
                of = finer
        return cls.single_nodes(size) if int(of.max(initial=-1)) == size - 1 else cls(of.astype(np.intp))

    def tells(self, trait: NDArray[np.generic]) -> bool:
        """Whether all nodes of every cell have the same value."""
        return self.single or bool((trait == trait[self.first][self.of]).all())

    def sums(self, amounts: Ints) -> Ints:
        """Amounts of nodes added up for each cell."""
        if self.single:
            return amounts
        order, edges = self._in_order
        total: Ints = np.add.reduceat(amounts[order], edges[:-1]) if self.size else np.zeros(0, np.int64)
        return total

    def members(self) -> list[Codes]:
        order, edges = self._in_order
        return [order[edges[cell] : edges[cell + 1]] for cell in range(self.size)]

    @cached_property
    def _in_order(self) -> tuple[Codes, Codes]:
        """The nodes cell by cell, and where each cell begins; the end stands last."""
        order = np.argsort(self.of, kind="stable").astype(np.intp)
        return order, np.searchsorted(self.of[order], np.arange(self.size + 1))
