"""Which replicas go: a number for every replica group, the best spread first.

The stages, one after the other, each with what was achieved before as a constraint: hard excess, soft
excess, the sum of the skews, and as many as possible of those that the controller takes anyhow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model

from planner.cpsat.lexicographic import Reached, StageGoal, reach
from planner.cpsat.replicas import Removal, ReplicaConstraint, ReplicaGroup
from planner.cpsat.solver import solved
from planner.cpsat.spread import DomainPods, Spread
from planner.proof.meter import Meter

#: So many stages are about the spread.
_OF_SPREAD = 3


@dataclass(frozen=True, slots=True)
class Chosen:
    """How many go of each replica group, and how good that is, stage by stage as far as it was solved."""

    numbers: tuple[int, ...]
    stages: tuple[Reached, ...]


class RemovalModel:
    """A scale-down in the solver's terms."""

    def __init__(self, removal: Removal) -> None:
        self._removal = removal
        self._cp = cp_model.CpModel()
        self._gone = [
            self._cp.new_int_var(0, len(replica_group.pods), f"gone_{n}")
            for n, replica_group in enumerate(removal.replica_groups)
        ]
        for group, going in enumerate(removal.going):
            members = [gone for gone, replica_group in self._each() if replica_group.group == group]
            self._cp.add(self._sum(members) == going)
        self._excess: dict[bool, list[Any]] = {True: [], False: []}
        self._skews: list[Any] = []
        for constraint in removal.constraints:
            self._add(constraint)

    def solve(self, meter: Meter, tell: Callable[[Sequence[Reached]], None] = lambda _: None) -> Chosen:
        """The best choice found within the work allowed, at worst the controller's; and the stages solved.

        Whenever one of the first three is solved, `tell` is told of those so far.
        """
        numbers = tuple(replica_group.taken for replica_group in self._removal.replica_groups)
        stages: list[Reached] = []
        work = meter.effort.scale_down.stage_work
        for reached in reach(self._cp, self._objectives(), lambda _: solved(self._cp, meter, work)):
            numbers = tuple(reached.solver.value(variable) for variable in self._gone)
            stages.append(reached)
            if len(stages) <= _OF_SPREAD:
                tell(stages)
        return Chosen(numbers, tuple(stages))

    def _objectives(self) -> Iterator[StageGoal]:
        yield StageGoal("hard excess", self._sum(self._excess[True]))
        yield StageGoal("soft excess", self._sum(self._excess[False]))
        yield StageGoal("skews", self._sum(self._skews))
        yield StageGoal("disagreement", -self._agreement())

    def _add(self, constraint: ReplicaConstraint) -> None:
        """The excess and the skew of a constraint."""
        domains = {domain: self._pods(constraint, domain) for domain in constraint.counts}
        spread = Spread(
            self._cp, [*domains.values()], constraint.max_skew, few_domains=constraint.floor_is_zero
        )
        self._skews.append(spread.skew())
        for domain, pods in domains.items():
            if constraint.carriers.get(domain) or domain in constraint.held:
                self._excess[constraint.hard].append(spread.excess(pods, self._asking(constraint, domain)))

    def _pods(self, constraint: ReplicaConstraint, domain: int) -> DomainPods:
        """The pods that stay in a domain."""
        groups, pods = constraint.replica_groups.get(domain, ()), constraint.counts[domain]
        return DomainPods(pods - self._going(groups), pods - self._size(groups), pods)

    def _asking(self, constraint: ReplicaConstraint, domain: int) -> DomainPods | None:
        """Those that ask for the constraint; None if some do as long as there are too many."""
        groups = constraint.carriers.get(domain, ())
        counted = self._size(set(groups).intersection(constraint.replica_groups.get(domain, ())))
        if domain in constraint.held or constraint.counts[domain] - counted <= constraint.max_skew:
            return None
        return DomainPods(self._size(groups) - self._going(groups), 0, self._size(groups))

    def _going(self, groups: Iterable[int]) -> Any:
        return self._sum([self._gone[group] for group in groups])

    def _size(self, replica_groups: Iterable[int]) -> int:
        return sum(len(self._removal.replica_groups[replica_group].pods) for replica_group in replica_groups)

    def _each(self) -> Iterator[tuple[cp_model.IntVar, ReplicaGroup]]:
        return zip(self._gone, self._removal.replica_groups, strict=True)

    def _agreement(self) -> Any:
        """How many go that the controller takes anyhow."""
        shared = []
        for variable, replica_group in self._each():
            if replica_group.taken == len(replica_group.pods):
                shared.append(variable)
            elif replica_group.taken:
                both = self._cp.new_int_var(0, replica_group.taken, "")
                self._cp.add(both <= variable)
                shared.append(both)
        return self._sum(shared)

    @staticmethod
    def _sum(terms: Sequence[Any]) -> Any:
        return cp_model.LinearExpr.sum(list(terms))
