"""How many pods every spread constraint has too many, kept up to date while pods are moved.

The numbers are those of `check`: in every domain that holds a pod with the constraint, the pods above
the sum of the global minimum and maxSkew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.audit.spread_counts import AskedRule, asked
from planner.constraints.pod_topology_spread import HARD
from planner.moves.counting_bounds import moves_needed
from planner.problem.nodes import Ints, Mask
from planner.problem.problem import Problem
from planner.state.state import State


class TrackedConstraint:
    """One constraint of one workload over a state, with its current surplus."""

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
        """For every domain, how many pods it has too many."""
        return np.where(self.held.sums() > 0, self.rule.surplus(), 0)

    def bears_less(self) -> Mask:
        """For every domain, whether one pod fewer leaves no domain with more pods too many."""
        fine = np.ones(len(self.rule.column.values) + 1, np.bool_)
        sums, minimum = self.rule.counts.sums(), self.rule.minimum()
        if not self.rule.few_domains:
            full = (sums > minimum - 1 + self.max_skew) & (self.held.sums() > 0)
            fine[np.flatnonzero(self.rule.counts.domains & (sums == minimum))] = not full.any()
        return fine

    def moves_needed(self, *, closed: bool) -> int | None:
        """A lower bound, from the counts alone, on the moves that repair it; None when no moves can.

        Unless `closed`, pods may also move to and from nodes that are in no domain.
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
        """The pods too many, summed over the domains."""
        sums = self.rule.counts.sums()
        if not sums.size or int(sums.max()) <= self.rule.allowed():
            return 0
        return int(self.surplus().sum())


@dataclass(frozen=True, slots=True)
class ConstraintSubset:
    """Some of the constraints, by their identities, and all templates that carry any of them."""

    constraints: frozenset[Hashable]
    carriers: tuple[int, ...]


class ConstraintCounts:
    """The counts of all constraints over one state."""

    def __init__(self, problem: Problem, state: State, part: ConstraintSubset | None = None) -> None:
        """All constraints, or those of a subset."""
        templates = None if part is None else [problem.templates[number] for number in part.carriers]
        kept = [
            found
            for found in asked(problem, state, templates)
            if part is None or found.identity in part.constraints
        ]
        self.constraints = [
            TrackedConstraint(number, found, problem, state) for number, found in enumerate(kept)
        ]
        self._of: dict[int, list[TrackedConstraint]] = defaultdict(list)
        for constraint in self.constraints:
            for template in constraint.members.union(constraint.carriers):
                self._of[template].append(constraint)

    def concerned(self, templates: Iterable[int]) -> ConstraintSubset:
        """The constraints whose counts moves of some templates can change."""
        found = {
            constraint.number: constraint for template in templates for constraint in self.of(template)
        }.values()
        return ConstraintSubset(
            frozenset(constraint.asked.identity for constraint in found),
            tuple(sorted({number for constraint in found for number in constraint.carriers})),
        )

    def of(self, template: int) -> Sequence[TrackedConstraint]:
        """The constraints that a pod of the template counts for, or carries."""
        return self._of.get(template, ())

    def touched(self, templates: Iterable[int]) -> list[TrackedConstraint]:
        """The hard constraints whose counts moves of these templates can change."""
        found = {d.number: d for template in templates for d in self.of(template) if d.hard}
        return list(found.values())

    def excess(self, *, hard: bool) -> int:
        """The pods too many of all hard, or of all soft, constraints."""
        return sum(constraint.excess() for constraint in self.constraints if constraint.hard is hard)

    def violations(self) -> int:
        """The number of pairs of a hard constraint and a domain that holds too many pods."""
        return sum(int(np.count_nonzero(d.surplus())) for d in self.constraints if d.hard)

    def broken(self, kinds: frozenset[str]) -> list[TrackedConstraint]:
        """The constraints of these kinds that are violated in some domain."""
        return [
            constraint
            for constraint in self.constraints
            if constraint.rule.constraint.when_unsatisfiable in kinds and constraint.excess()
        ]


def excesses(constraints: Iterable[TrackedConstraint]) -> tuple[int, ...]:
    """How many pods each of some constraints has too many."""
    return tuple([constraint.excess() for constraint in constraints])


def worse(before: Sequence[int], constraints: Iterable[TrackedConstraint]) -> bool:
    """Whether any of the constraints has more pods too many than before."""
    return any(constraint.excess() > level for constraint, level in zip(constraints, before, strict=True))
