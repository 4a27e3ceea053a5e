"""Counting pods per node and per domain, kept up to date as pods come and go.

A tally answers "how many pods of this kind are on each node": pods that a selector matches, pods
that own an affinity term, pods that use a host port or a claim.  Which templates are of the kind
is determined once; afterwards a bind costs one addition a tally.  Domain counts are sums of a tally
over the nodes of a domain.  They follow the tally's log lazily, so counts that are not read cost
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from planner.problem.nodes import Codes, Column, Ints, Mask


class PodCounts:
    """How many pods of one kind each node holds, with a log of what changed."""

    __slots__ = ("_limit", "counts", "epoch", "log", "members", "total", "version", "versions")

    def __init__(self, members: Mapping[int, int], counts: Ints) -> None:
        self.members = members
        self.counts = counts
        self.total = int(counts.sum())
        self.log: list[tuple[int, int]] = []
        self.epoch = 0
        #: Equal versions mean equal counts; so many were given so far.
        self.version = self.versions = 0
        self._limit = max(256, len(counts))

    def add(self, node: int, amount: int) -> None:
        """Count `amount` more pods on a node (fewer when negative)."""
        self.counts[node] += amount
        self.total += amount
        self._new_version()
        self.log.append((node, amount))
        self._cut()

    def add_each(self, nodes: Codes, amount: int) -> None:
        """Count `amount` more pods on each of these nodes, as often as it is there."""
        np.add.at(self.counts, nodes, amount)
        self.total += amount * len(nodes)
        self._new_version()
        self.log += [(node, amount) for node in nodes.tolist()]
        self._cut()

    def _new_version(self) -> None:
        self.versions += 1
        self.version = self.versions

    def _cut(self) -> None:
        if len(self.log) > self._limit:
            self.log.clear()
            self.epoch += 1

    def add_many(self, amounts: Ints) -> None:
        """Count so many more pods on every node."""
        self.counts += amounts
        self.total += int(amounts.sum())
        self._new_version()
        self.log.clear()
        self.epoch += 1


class CountsWhere:
    """A tally as the pods of one template reach it, which belong to it on some nodes alone."""

    __slots__ = ("_tally", "_where")

    def __init__(self, tally: PodCounts, where: Mask) -> None:
        self._tally = tally
        self._where = where

    def add(self, node: int, amount: int) -> None:
        """Count `amount` more pods where they belong."""
        if self._where[node]:
            self._tally.add(node, amount)

    def add_each(self, nodes: Codes, amount: int) -> None:
        """Count `amount` more pods on each of these nodes where they belong."""
        self._tally.add_each(nodes[self._where[nodes]], amount)

    def add_many(self, amounts: Ints) -> None:
        """Count so many more pods on every node where they belong."""
        self._tally.add_many(np.where(self._where, amounts, 0))


class CountedNodes:
    """Over which nodes, and into which domains of a label, pods are counted; shared by all that count so."""

    def __init__(self, column: Column, eligible: Mask | None = None) -> None:
        self.column = column
        self.codes = column.codes if eligible is None else np.where(eligible, column.codes, -1)
        self.eligible: Mask = self.codes >= 0
        #: Which domains have at least one eligible node.
        self.domains: Mask = np.bincount(self.codes[self.eligible], minlength=len(column.values)) > 0

    @cached_property
    def _inside(self) -> tuple[Codes, bool]:
        """The domains of the eligible nodes, and whether each has one of its own."""
        codes = self.codes[self.eligible]
        return codes, len(codes) == int(self.domains.sum())

    def add_up(self, counts: Ints, sums: Ints) -> None:
        """Set the sums to what the eligible nodes of every domain hold together."""
        codes, one_each = self._inside
        inside = counts[self.eligible]
        if one_each:
            sums[codes] = inside
        else:
            sums[:] = np.bincount(codes, weights=inside, minlength=len(sums))

    @cached_property
    def code_list(self) -> list[int]:
        """The codes as plain numbers."""
        found: list[int] = self.codes.tolist()
        return found


class DomainCounts:
    """A tally summed over the domains of a label, counting only the eligible nodes."""

    __slots__ = (
        "_counted",
        "_epoch",
        "_padded",
        "_position",
        "_sums",
        "column",
        "domains",
        "eligible",
        "tally",
        "version",
    )

    def __init__(self, tally: PodCounts, counted: CountedNodes) -> None:
        self.tally = tally
        self.column = counted.column
        self._counted = counted
        self.eligible = counted.eligible
        self.domains = counted.domains
        self._epoch = -1
        self._position = 0
        self._padded: Ints = np.zeros(len(counted.domains) + 1, np.int64)
        self._sums: Ints = self._padded[:-1]
        #: The tally's version when a sum last changed; equal versions mean equal sums, even for
        #: another count of the same tally over the same nodes.
        self.version = tally.version

    def sums(self) -> Ints:
        """The count of every domain now; the array is live, do not keep it."""
        tally = self.tally
        if self._epoch != tally.epoch:
            self._rebuild()
        elif self._position < len(tally.log):
            codes = self._counted.code_list
            for node, amount in tally.log[self._position :]:
                code = codes[node]
                if code >= 0:
                    self._sums[code] += amount
                    self.version = tally.version
            self._position = len(tally.log)
        return self._sums

    def padded(self) -> Ints:
        """The same with a zero behind it, so that the code -1 of a missing label finds nothing."""
        self.sums()
        return self._padded

    def _rebuild(self) -> None:
        self._counted.add_up(self.tally.counts, self._sums)
        self._epoch, self._position = self.tally.epoch, len(self.tally.log)
        self.version = self.tally.version
