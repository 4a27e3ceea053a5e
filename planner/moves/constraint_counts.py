"""How many pods every spread constraint has too many, kept up to date while pods are moved.

The numbers are those of `check`: in every domain that holds a pod with the constraint, the pods above
the sum of the global minimum and maxSkew.

With a global minimum of m every pod above m + maxSkew in its domain has to go, unless all pods with the
constraint leave the domain: where no pod carries the constraint it is not violated.  And every domain below
m has to receive what it lacks.  One move does at most one of each: that is the lower bound on the moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.audit.spread_counts import AskedRule, asked
from planner.constraints.pod_topology_spread import HARD
from planner.problem.nodes import Ints
from planner.problem.problem import Problem
from planner.proof import move_effort as effort
from planner.state.state import State


class TrackedConstraint:
    """One constraint of one workload over a state, with its current surplus."""

    def __init__(self, number: int, found: AskedRule, problem: Problem, state: State) -> None:
        self.number = number
        self.asked = found
        self.rule = found.rule
        self.kind = found.rule.constraint.when_unsatisfiable
        self.hard = found.hard
        self.max_skew = found.rule.constraint.max_skew
        self.members = frozenset(t for t, weight in found.rule.tally.members.items() if weight)
        self.carriers = tuple(t for t in found.carriers if not problem.templates[t].terminating)
        tally = state.tally(("carriers", self.carriers), lambda: dict.fromkeys(self.carriers, 1))
        self.held = state.domain_counts(tally, found.rule.column)
        column = found.rule.column
        #: Whether every domain is a single node, and there are too many domains to keep each apart.
        several = len(column.values) > effort.FEW_DOMAINS
        self.by_node = several and len(column.values) == int(column.present.sum())

    def surplus(self) -> Ints:
        """For every domain, how many pods it has too many."""
        return np.where(self.held.sums() > 0, self.rule.surplus(), 0)

    def moves_needed(self, *, closed: bool) -> int | None:
        """A lower bound, from the counts alone, on the moves that repair it; None when no moves can.

        Unless `closed`, pods may also move to and from nodes that are in no domain.
        """
        rule, domains = self.rule, self.rule.counts.domains
        counts = rule.counts.sums()[domains]
        found = fewest_moves(
            counts,
            self.max_skew,
            held=self.held.sums()[domains],
            few_domains=rule.few_domains,
            closed=closed,
            outside=0 if closed else rule.tally.total - int(counts.sum()),
        )
        return None if found is None else found[0]

    def excess(self) -> int:
        """The pods too many, summed over the domains."""
        sums = self.rule.counts.sums()
        if not sums.size or int(sums.max()) <= (allowed := self.rule.allowed()):
            return 0
        return int(np.maximum(sums - allowed, 0)[self.held.sums() > 0].sum())


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
        self.hard = [constraint for constraint in self.constraints if constraint.hard]
        self._of: dict[int, list[TrackedConstraint]] = defaultdict(list)
        for constraint in self.constraints:
            for template in constraint.members.union(constraint.carriers):
                self._of[template].append(constraint)

    def subset_of(self, templates: Iterable[int]) -> ConstraintSubset:
        """The constraints whose counts moves of some templates can change."""
        found = self.touched(templates)
        return ConstraintSubset(
            frozenset(constraint.asked.identity for constraint in found),
            tuple(sorted({number for constraint in found for number in constraint.carriers})),
        )

    def linked(
        self, template: int, moves: Callable[[int], bool], matters: Callable[[TrackedConstraint], bool]
    ) -> tuple[list[int], list[TrackedConstraint]]:
        """A template and all that move and share constraints with it, one by way of another; and these."""
        constraints: dict[int, TrackedConstraint] = {}
        templates, waiting = [template], [template]
        while waiting:
            for constraint in self.of(waiting.pop()):
                if matters(constraint) and constraint.number not in constraints:
                    constraints[constraint.number] = constraint
                    touched = constraint.members.union(constraint.carriers)
                    fresh = [t for t in touched if moves(t) and t not in templates]
                    templates += fresh
                    waiting += fresh
        return sorted(templates), [constraints[number] for number in sorted(constraints)]

    def of(self, template: int) -> Sequence[TrackedConstraint]:
        """The constraints that a pod of the template counts for, or carries."""
        return self._of.get(template, ())

    def touched(self, templates: Iterable[int]) -> list[TrackedConstraint]:
        """The constraints whose counts moves of these templates can change, each once."""
        return [*dict.fromkeys(one for template in templates for one in self.of(template))]

    def hard_of(self, templates: Iterable[int]) -> list[TrackedConstraint]:
        """The hard ones of these."""
        return [one for one in self.touched(templates) if one.hard]

    def excess(self, *, hard: bool) -> int:
        """The pods too many of all hard, or of all soft, constraints."""
        return sum(constraint.excess() for constraint in self.constraints if constraint.hard is hard)

    def violations(self) -> int:
        """The number of pairs of a hard constraint and a domain that holds too many pods."""
        return sum(int(np.count_nonzero(one.surplus())) for one in self.hard)

    def broken(self, kinds: Collection[str] = (HARD,)) -> list[TrackedConstraint]:
        """The constraints of these kinds that are violated in some domain."""
        return [one for one in self.constraints if one.kind in kinds and one.excess()]


def excesses(constraints: Iterable[TrackedConstraint]) -> tuple[int, ...]:
    """How many pods each of some constraints has too many."""
    return tuple([constraint.excess() for constraint in constraints])


def worse(before: Sequence[int], constraints: Iterable[TrackedConstraint]) -> bool:
    """Whether any of the constraints has more pods too many than before."""
    return any(constraint.excess() > pods for constraint, pods in zip(constraints, before, strict=True))


def fewest_moves(  # noqa: PLR0913 - what a constraint's counts depend on
    counts: Ints,
    max_skew: int,
    *,
    held: Ints | None = None,
    few_domains: bool = False,
    closed: bool = True,
    outside: int = 0,
) -> tuple[int, int] | None:
    """The fewest moves until no domain has too many pods, and the global minimum then; None if none do.

    `held` has the pods with the constraint in every domain; without it every counted pod has it.  With too
    few domains the global minimum is 0 whatever they hold.  Unless `closed`, pods may also move to nodes
    that are in no domain; `outside` is the number of matching pods that are there now and may come in.
    """
    if not counts.size:
        return 0, 0
    carried = counts if held is None else held
    anywhere = not closed or bool((carried < counts).any())
    top = 0 if few_domains else (int(counts.sum()) + outside) // counts.size
    best: tuple[int, int] | None = None
    for minimum in range(top, -1, -1):
        over = int(np.minimum(np.maximum(counts - minimum - max_skew, 0), carried).sum())
        under = int(np.maximum(minimum - counts, 0).sum())
        room = int(np.maximum(minimum + max_skew - counts, 0).sum())
        if (room >= over or anywhere) and (best is None or max(over, under) < best[0]):
            best = max(over, under), minimum
        if best is not None and over >= best[0]:
            break
    return best
