"""One constraint of one template with its live counts: what it refuses, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.objects.affinity import TopologySpreadConstraint
from planner.constraints.family import PLENTY
from planner.problem.nodes import ALL, HOSTNAME, Codes, Feasible, Ints, Mask, Where
from planner.problem.selection import Members, Selection
from planner.problem.sequences import length_of_start, rank_among_equals
from planner.state.pod_counts import DomainCounts

NO_LABEL, SKEWED = 1, 2
#: How many patterns of open and closed domains a rule keeps the answer for.
_REMEMBERED = 16

Floats = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Counted:
    """Whose pods a constraint counts, and over which nodes; equal where both are equal."""

    selection: Selection
    eligible: Hashable
    labels: tuple[str, ...]
    """The keys that a node needs all of; none where every node has them."""


class Rule:
    """One constraint of one template, with its live counts per domain."""

    def __init__(
        self, constraint: TopologySpreadConstraint, counted: Counted, own: bool, counts: DomainCounts
    ) -> None:
        self.constraint = constraint
        self.counted = counted
        self.column = counts.column
        self.tally = counts.tally
        self.counts = counts
        self.own = int(own)
        self.few_domains = int(counts.domains.sum()) < (constraint.min_domains or 1)
        self._every_domain = bool(counts.domains.all())
        self._allowed = b""
        self._rejects: dict[bytes, NDArray[np.int8]] = {}
        self._scored: tuple[Feasible | None, Feasible, float] | None = None

    def too_full_within(self, nodes: Mask) -> Mask:
        """The nodes refused to a pod pinned to these; where affinity counts, it sees no others."""
        asked = self.constraint
        inside = self.counts.eligible & (nodes if asked.node_affinity_policy == "Honor" else True)
        codes, size = self.column.codes[inside], len(self.column.values)
        sums = np.bincount(codes, weights=self.tally.counts[inside], minlength=size).astype(np.int64)
        seen = np.unique(codes)
        few = len(seen) < (asked.min_domains or 1)
        minimum = 0 if few or not seen.size else int(sums[seen].min())
        found: Mask = np.append(sums + self.own - minimum > asked.max_skew, True)[self.column.codes]
        return found

    @property
    def counts_alike_everywhere(self) -> bool:
        """Whether pods are counted on whatever eligible node they are, not on some alone."""
        return not (isinstance(self.tally.members, Members) and self.tally.members.where)

    @property
    def identity(self) -> Hashable:
        """Equal for rules that ask for the same over the same pods and nodes."""
        asked = self.constraint
        terms = (asked.topology_key, asked.when_unsatisfiable, asked.max_skew, asked.min_domains)
        return terms, self.counted

    def minimum(self) -> int:
        """The global minimum: the fewest matching pods in any domain, 0 with too few domains."""
        if self.few_domains:
            return 0
        sums = self.counts.sums()
        return int((sums if self._every_domain else sums[self.counts.domains]).min())

    def _emptiest(self) -> int:
        """How many domains hold no more than the global minimum."""
        return int(np.count_nonzero(self.counts.domains & (self.counts.sums() <= self.minimum())))

    def allowed(self) -> int:
        """The most matching pods that a domain may hold now."""
        return self.minimum() + self.constraint.max_skew

    def surplus(self) -> Ints:
        """For every domain, the matching pods above that: too many if a pod there has the constraint."""
        return np.maximum(self.counts.sums() - self.allowed(), 0)

    def skew(self) -> int:
        """How far the fullest domain is above the global minimum."""
        return int(self.counts.sums()[self.counts.domains].max(initial=0)) - self.minimum()

    def always_uneven(self, coming: Mapping[int, int], places: Mapping[int, Mask]) -> bool:
        """Whether so many pods of each template cannot be shared out evenly, whatever place they take.

        Not known if some may come where none are counted.
        """
        sums = self.counts.sums()[self.counts.domains]
        members = [number for number in self.tally.members if number in coming]
        if any((places[number] & ~self.counts.eligible).any() for number in members):
            return False
        if not sums.size or not self.counts_alike_everywhere:
            return False
        return (int(sums.sum()) + sum(coming[number] for number in members)) % len(sums) > 0

    def ceiling(self, wanted: Mapping[int, int]) -> int:
        """The most that the global minimum can become with so many pods of each template on their way."""
        if self.few_domains:
            return 0
        coming = sum(wanted[template] for template in self.tally.members if template in wanted)
        levels = np.sort(self.counts.sums()[self.counts.domains])
        filled = (coming + np.cumsum(levels)) // np.arange(1, len(levels) + 1)
        return int(filled[filled >= levels].min(initial=filled[0]))

    def room(self, wanted: Mapping[int, int]) -> Ints:
        """How many more matching pods every domain can take at most when one with the constraint comes."""
        return self.constraint.max_skew + self.ceiling(wanted) - self.counts.sums()

    def most(self, template: int, wanted: Mapping[int, int]) -> Ints:
        """For every node, how many pods of a template with the constraint it can take at most."""
        room = np.append(np.maximum(self.room(wanted) + (1 - self.own), 0), 0)[self.column.codes]
        uncounted = ~self._counted(template)
        return np.where(uncounted & (room > 0), PLENTY, room) if uncounted.any() else room

    def _counted(self, template: int) -> Mask:
        """The nodes on which pods of a template are counted."""
        members = self.tally.members
        if template not in members:
            return np.zeros_like(self.counts.eligible)
        where = members.where.get(template) if isinstance(members, Members) else None
        return self.counts.eligible if where is None else self.counts.eligible & where

    def rejects(self, where: Where) -> NDArray[np.int8]:
        """For every node asked about: 0 fits, else why not."""
        full = self.counts.padded() > self.allowed() - self.own
        if where is not ALL:
            return self._verdicts(full, where)
        pattern = full.tobytes()
        if pattern != self._allowed:
            self._allowed = pattern
            if pattern not in self._rejects:
                if len(self._rejects) >= _REMEMBERED:
                    self._rejects.clear()
                self._rejects[pattern] = self._verdicts(full, ALL)
        return self._rejects[self._allowed]

    def _verdicts(self, full: Mask, where: Where) -> NDArray[np.int8]:
        """The codes of some nodes, given which domains are full; a missing label is always refused."""
        codes = full.view(np.int8) * np.int8(SKEWED)
        if where is ALL and self.column.one_each:
            return codes[:-1]
        codes[-1] = NO_LABEL
        return codes[self.column.codes[where]]

    def admits(self, node: int) -> bool:
        """Whether one node is not refused."""
        code = self.column.codes.item(node)
        if code < 0:
            return False
        return self.counts.sums().item(code) + self.own - self.minimum() <= self.constraint.max_skew

    def holds_again(self, nodes: Codes) -> bool:
        """Whether it would accept each of the pods on these nodes where it is, beside all others.

        A pod that is counted is so once, as it would be when it comes, and one in the emptiest domain is
        never too many.
        """
        codes = self.column.codes[nodes]
        uncounted = self.own * ~self.counts.eligible[nodes]
        return bool(((codes >= 0) & (self.counts.padded()[codes] + uncounted <= self.allowed())).all())

    def accepted(self, template: int, nodes: Codes) -> int:
        """How many pods of a template, each going to the next of these nodes, it accepts in turn."""
        members = self.tally.members
        if isinstance(members, Members) and template in members.where:
            return 0
        codes = self.column.codes[nodes]
        codes = codes[: length_of_start(codes >= 0)]
        amount = members.get(template, 0)
        counted = self.counts.eligible[nodes[: len(codes)]] & (amount > 0)
        before = self.counts.sums()[codes] + amount * rank_among_equals(codes, counted)
        minimum = self._minimum_in_turn(codes[counted], amount)[np.cumsum(counted) - counted]
        return length_of_start(before + self.own - minimum <= self.constraint.max_skew)

    def _minimum_in_turn(self, codes: Codes, amount: int) -> Ints:
        """The global minimum before each pod that comes to the next of these domains, and after the last."""
        minimum = np.full(len(codes) + 1, self.minimum(), np.int64)
        if self.few_domains or self._emptiest() > len(codes):
            return minimum
        sums, coming = self.counts.sums(), np.bincount(codes, minlength=len(self.column.values))
        order = np.argsort(codes, kind="stable")
        first = np.cumsum(coming) - coming
        while True:
            low = np.flatnonzero(self.counts.domains & (sums <= minimum[-1]))
            wanted = (minimum[-1] - sums[low]) // amount + 1
            if (coming[low] < wanted).any():
                return minimum
            raised = int(order[first[low] + wanted - 1].max()) + 1
            minimum[raised:] += 1

    def stamp(self) -> bytes:
        """Which domains the last `rejects` for all nodes let in."""
        return self._allowed

    def weigh(self, feasible: Feasible, labelled: Mask) -> tuple[Feasible, float]:
        """The feasible nodes that are scored, and the weight that this topology has among them."""
        if self._scored is None or self._scored[0] is not feasible:
            scored = feasible if labelled.all() else Feasible(feasible.mask & labelled)
            domains = scored.count if self.column.key == HOSTNAME else self._distinct(scored.mask)
            self._scored = (feasible, scored, math.log(domains + 2))
        return self._scored[1], self._scored[2]

    def _distinct(self, mask: Mask) -> int:
        """How many domains the nodes are in; nodes without the label are one domain together."""
        seen = np.zeros(len(self.column.values) + 1, np.bool_)
        seen[self.column.codes[mask]] = True
        return int(np.count_nonzero(seen))

    def cost(self, weight: float) -> Floats:
        """What the constraint adds to every node's raw score; nothing where the label is missing."""
        slack = self.constraint.max_skew - 1
        if self.column.key == HOSTNAME:
            cost: Floats = self.tally.counts * weight + slack
            return cost if self.column.complete else np.where(self.column.present, cost, 0.0)
        per_domain = self.counts.padded() * weight + slack
        per_domain[-1] = 0.0
        return per_domain[self.column.codes]
