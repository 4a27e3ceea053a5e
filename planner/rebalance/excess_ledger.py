"""The running account of what every spread constraint has too much, while pods are moved about.

The numbers are those of `check`: in every domain that holds a pod with the constraint, the pods above
the global minimum and maxSkew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.audit.spread_counts import AskedRule, asked
from planner.constraints.pod_topology_spread import HARD
from planner.problem.nodes import Ints, Mask
from planner.problem.problem import Problem
from planner.rebalance.bounds import moves_needed
from planner.state.state import State


class Demand:
    """One constraint of one workload over a state, with its surplus now."""

    def __init__(self, number: int, found: AskedRule, problem: Problem, state: State) -> None:
        self.number = number
        self.asked = found
        self.rule = found.rule
        self.hard = found.rule.constraint.when_unsatisfiable == HARD
        self.max_skew = found.rule.constraint.max_skew
        self.members = frozenset(t for t, weight in found.rule.tally.members.items() if weight)
        self.carriers = tuple(t for t in found.carriers if not problem.templates[t].terminating)
        tally = state.tally(("rebalance", self.carriers), lambda: dict.fromkeys(self.carriers, 1))
        self.held = state.domain_counts(tally, found.rule.column)

    def surplus(self) -> Ints:
        """For every domain, the pods it has too many."""
        sums = self.rule.counts.sums()
        over = np.maximum(sums - (self.rule.minimum() + self.max_skew), 0)
        return np.where(self.held.sums() > 0, over, 0)

    def bears_less(self) -> Mask:
        """For every domain, whether it can do without a pod for a while and nothing gets worse."""
        fine = np.ones(len(self.rule.column.values) + 1, np.bool_)
        sums, minimum = self.rule.counts.sums(), self.rule.minimum()
        if not self.rule.few_domains:
            full = (sums > minimum - 1 + self.max_skew) & (self.held.sums() > 0)
            fine[np.flatnonzero(self.rule.counts.domains & (sums == minimum))] = not full.any()
        return fine

    def moves_needed(self, *, closed: bool) -> int | None:
        """The fewest moves until nothing is too much, as far as counting goes; None when no moves can do it.

        Unless `closed`, pods may also leave for, and come from, nodes that are in no domain.
        """
        rule, domains = self.rule, self.rule.counts.domains
        counts = rule.counts.sums()[domains]
        return moves_needed(
            counts,
            self.max_skew,
            held=self.held.sums()[domains],
            few_domains=rule.few_domains,
            closed=closed,
            outside=0 if closed else rule.tally.total - int(counts.sum()),
        )

    def excess(self) -> int:
        """All that is too much, taken together."""
        sums = self.rule.counts.sums()
        most = self.rule.minimum() + self.max_skew
        if not sums.size or int(sums.max()) <= most:
            return 0
        return int(self.surplus().sum())


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the constraints, by what tells them from others, and all templates that carry any of them."""

    constraints: frozenset[Hashable]
    carriers: tuple[int, ...]


class Ledger:
    """All constraints over one state."""

    def __init__(self, problem: Problem, state: State, part: Part | None = None) -> None:
        """All constraints, or a part of them."""
        templates = None if part is None else [problem.templates[number] for number in part.carriers]
        kept = [
            found
            for found in asked(problem, state, templates)
            if part is None or found.identity in part.constraints
        ]
        self.demands = [Demand(number, found, problem, state) for number, found in enumerate(kept)]
        self._of: dict[int, list[Demand]] = defaultdict(list)
        for demand in self.demands:
            for template in demand.members.union(demand.carriers):
                self._of[template].append(demand)

    def concerned(self, templates: Iterable[int]) -> Part:
        """The constraints that moves of some templates can change."""
        found = {demand.number: demand for template in templates for demand in self.of(template)}.values()
        return Part(
            frozenset(demand.asked.identity for demand in found),
            tuple(sorted({number for demand in found for number in demand.carriers})),
        )

    def of(self, template: int) -> Sequence[Demand]:
        """The constraints that a pod of the template counts for, or carries."""
        return self._of.get(template, ())

    def touched(self, templates: Iterable[int]) -> list[Demand]:
        """The hard constraints that moves of these templates can change."""
        found = {d.number: d for template in templates for d in self.of(template) if d.hard}
        return list(found.values())

    def excess(self, *, hard: bool) -> int:
        """What all hard, or all soft, constraints have too much."""
        return sum(demand.excess() for demand in self.demands if demand.hard is hard)

    def violations(self) -> int:
        """The pairs of a hard constraint and a domain that holds too many."""
        return sum(int(np.count_nonzero(d.surplus())) for d in self.demands if d.hard)

    def broken(self, kinds: frozenset[str]) -> list[Demand]:
        """The constraints of these kinds that have too much somewhere."""
        return [
            demand
            for demand in self.demands
            if demand.rule.constraint.when_unsatisfiable in kinds and demand.excess()
        ]


def levels(demands: Iterable[Demand]) -> tuple[int, ...]:
    """What each of some constraints has too much."""
    return tuple([demand.excess() for demand in demands])


def worse(before: Sequence[int], demands: Iterable[Demand]) -> bool:
    """Whether any of the constraints has more too much than before."""
    return any(demand.excess() > level for demand, level in zip(demands, before, strict=True))
