"""The model of a batch: every constraint of every pod over `x[template, cell]`, solved stage by stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Protocol

from ortools.sat.python import cp_model

from planner.cpsat.lexicographic import Reached, StageGoal, reach
from planner.cpsat.linear import LinearModel
from planner.cpsat.solver import Solved, solved
from planner.cpsat.variables import Batch, Counts, Holds
from planner.documents.plan import MOVES, PODS_PLACED
from planner.problem.nodes import Ints
from planner.problem.templates import Template
from planner.proof.clock import looking_for
from planner.proof.meter import Meter

#: What is looked for, by the kind of a goal.
_SOUGHT, _SOFTER = {PODS_PLACED.removesuffix("/"): "the most pods", MOVES: "fewer moves"}, "a better spread"


class EncodedRule(Protocol):
    """A rule that says in the solver's terms what it forbids."""

    name: ClassVar[str]

    def encode(self, x: Counts, /) -> None:
        """Constrain the variables of a batch."""

    def encode_running(self, x: Counts, running: Collection[int], /) -> None:
        """Constrain them so that nothing that holds for running pods of some templates is broken."""

    def wants(self, template: Template, /) -> Sequence[tuple[int, int]] | None:
        """Rows of the resource table and amounts, if it is enough for the rule that so much is free."""


#: The rules of a profile, and some templates of its pods.
Carried = tuple[Iterable[EncodedRule], Collection[int]]


@dataclass(frozen=True, slots=True)
class Goal(StageGoal):
    """One stage of the objective.

    `work` limits what is done about it, in the solver's own unit.  It is a step of fixed size; or, where
    a goal is `open`, it draws on the work of the whole search.
    """

    largest: bool = True
    work: float = 0.0
    open: bool = False


@dataclass(frozen=True, slots=True)
class FoundCounts:
    """A placement by template and cell, phase by phase; what each stage reached, and its bound."""

    phases: list[dict[tuple[int, int], int]]
    staying: dict[tuple[int, int], int]
    values: dict[str, int]
    bounds: dict[str, int]


class BatchModel:
    """A batch under all constraints of its profiles' families.

    Without phases the constraints are those that hold whatever the order of binds.  With phases they
    hold at the end of each, for the pods that come in it: with one phase when all is placed, and when every
    bind is a phase of its own the model is exact for sequences.  Only pods of a profile without one of
    the filters make it a relaxation there: they count as if they came last for that filter.

    With `running`, the templates of pods that stay where they are, it is a final state: each pod that comes
    has what its profile asks for beside all others, and those that stay keep what they have.
    """

    def __init__(  # noqa: PLR0913 - what a model may be
        self,
        batch: Batch,
        profiles: Iterable[Carried],
        *,
        phases: int = 0,
        running: Iterable[Carried] | None = None,
        fullness: float = 1.0,
        one_by_one: bool = False,
    ) -> None:
        self.batch = batch
        profiles = list(profiles)
        asked = _asked(profiles)
        self._phases: list[Counts] = []
        holds = _holds(phases, one_by_one=one_by_one) if running is None else Holds.IN_A_FINAL_STATE
        for _ in range(max(1, phases)):
            before = self._phases[-1] if self._phases else None
            counts = Counts(batch, holds, fullness=fullness, before=before)
            self._phases.append(counts)
            for families, carriers in profiles:
                counts.carriers = carriers
                for family in families:
                    # Of moves the audit judges every pod, whichever templates were asked about.
                    counts.asked = batch.wanted.keys() if holds is Holds.AT_THE_END else asked[family.name]
                    family.encode(counts)
        for families, carriers in running or ():
            for family in families:
                self._phases[-1].asked = asked[family.name]
                family.encode_running(self._phases[-1], carriers)
        #: The last phase: its totals are of all that comes.
        self.counts = self._phases[-1]
        if one_by_one:
            self._one_by_one()

    def _one_by_one(self) -> None:
        """No more than one pod a phase, and none after a phase without."""
        pods: list[Any] = [cp_model.LinearExpr.sum([v for *_, v in phase.coming()]) for phase in self._phases]
        for earlier, later in pairwise([*pods, 0]):
            self.counts.require(earlier <= 1)
            self.counts.require(later <= earlier)

    def pods_placed(self, work: float, *, open: bool = False) -> list[Goal]:
        """A goal for every priority, the highest first."""
        by_priority: dict[int, list[int]] = {}
        for template in self.batch.templates:
            by_priority.setdefault(template.priority, []).append(template.index)
        return [
            Goal(
                f"{PODS_PLACED}{priority}",
                cp_model.LinearExpr.sum([self.counts.placed(number) for number in by_priority[priority]]),
                work=work,
                open=open,
            )
            for priority in sorted(by_priority, reverse=True)
        ]

    def pods_bound(self, meter: Meter) -> int:
        """How many pods have a place at most, of all priorities together, by the linear relaxation."""
        every = cp_model.LinearExpr.sum([goal.expression for goal in self.pods_placed(0.0)])
        return self.bound(Goal(PODS_PLACED, every), meter)

    def bound(self, goal: Goal, meter: Meter) -> int:
        """What a goal is at best, by the linear relaxation."""
        sign = 1 if goal.largest else -1
        return sign * LinearModel(self.counts.cp).bound(StageGoal(goal.name, sign * goal.expression), meter)

    def moves(self, work: float, *, open: bool = False) -> Goal:
        """As few pods as possible leave the node they run on."""
        running = sum(int(counts.sum()) for counts in self.batch.running.values())
        staying = [variable for *_, variable in self._phases[0].staying()]
        return Goal("moves", running - cp_model.LinearExpr.sum(staying), False, work, open)

    def exactly(self, pods: Mapping[str, int]) -> None:
        """So many pods have a place, stage by stage."""
        for goal in self.pods_placed(0.0):
            self.counts.cp.add(goal.expression == pods[goal.name])

    def at_least(self, pods: Mapping[int, int]) -> None:
        """So many pods of some priorities have a place."""
        for expression, number in self._of(pods):
            self.counts.cp.add(expression >= number)

    def at_most(self, pods: Mapping[int, int]) -> None:
        """No more than so many pods of some priorities have a place."""
        for expression, number in self._of(pods):
            self.counts.cp.add(expression <= number)

    def _of(self, pods: Mapping[int, int]) -> Iterable[tuple[Any, int]]:
        goals = {goal.name: goal.expression for goal in self.pods_placed(0.0)}
        return [(goals[f"{PODS_PLACED}{priority}"], number) for priority, number in pods.items()]

    def evict_at_most(self, templates: Collection[int], pods: int) -> None:
        """No more than so many pods of some templates leave the node they run on."""
        running = sum(int(self.batch.running[number].sum()) for number in templates)
        staying = [variable for number, _, variable in self._phases[0].staying() if number in templates]
        self.counts.cp.add(cp_model.LinearExpr.sum(staying) >= running - pods)

    def solve(
        self,
        goals: Sequence[Goal],
        hint: Mapping[tuple[int, int], int] | None,
        meter: Meter,
        staying: Mapping[tuple[int, int], int] | None = None,
    ) -> FoundCounts | None:
        """The best found, one goal after the other; None when nothing was found within the work allowed."""
        if hint is not None:
            self._hint(hint, staying or {})
        found: FoundCounts | None = None
        for reached in reach(self.counts.cp, goals, partial(self._solved, meter)):
            found = self._read(reached, found)
        return found

    def solve_linear(self, goals: Sequence[Goal], meter: Meter) -> FoundCounts | None:
        """The same by mixed-integer programming, where nothing is conditional; None where that finds nothing.

        Where the bound of the linear relaxation is not reached, CP-SAT goes on from what was found.
        """
        linear = LinearModel(self.counts.cp)
        found = linear.solve(goals, meter) if linear.is_complete else None
        if found is None:
            return None
        placement = self._placement(found.values)
        known = FoundCounts([placement], {}, found.reached, found.bounds)
        if found.reached == found.bounds:
            return known
        more = self.solve(goals, placement, meter)
        if more is None or more.values.keys() != known.values.keys():
            return known
        bounds = {name: min(bound, known.bounds[name]) for name, bound in more.bounds.items()}
        better = [more.values[goal.name] for goal in goals] >= [known.values[goal.name] for goal in goals]
        return replace(more if better else known, bounds=bounds)

    def rounded(self, goal: Goal, meter: Meter) -> dict[tuple[int, int], int] | None:
        """The best of the linear relaxation, rounded; None if a rule is conditional or nothing is found."""
        linear = LinearModel(self.counts.cp)
        weighed = StageGoal(goal.name, goal.expression if goal.largest else -goal.expression)
        numbers = [variable.index for *_, variable in self.counts.coming()]
        values = linear.rounded(weighed, numbers, meter) if linear.is_complete else None
        return None if values is None else self._placement(values)

    def _placement(self, values: Ints) -> dict[tuple[int, int], int]:
        coming = {(t, cell): int(values[variable.index]) for t, cell, variable in self.counts.coming()}
        return {key: pods for key, pods in coming.items() if pods}

    def _solved(self, meter: Meter, goal: Goal) -> Solved:
        looking_for(_SOUGHT.get(goal.name.partition("/")[0], _SOFTER))
        allowed = meter if goal.open else meter.step(goal.work)
        return solved(self.counts.cp, allowed, goal.work)

    def _read(self, reached: Reached, before: FoundCounts | None) -> FoundCounts:
        return FoundCounts(
            [values_of(reached.solver, phase.coming()) for phase in self._phases],
            values_of(reached.solver, self._phases[0].staying()),
            {**(before.values if before else {}), reached.name: reached.value},
            {**(before.bounds if before else {}), reached.name: reached.bound},
        )

    def _hint(self, placement: Mapping[tuple[int, int], int], staying: Mapping[tuple[int, int], int]) -> None:
        self.counts.clear_hints()
        for template, cell, variable in self._phases[0].staying():
            self.counts.cp.add_hint(variable, staying.get((template, cell), 0))
        for template, cell, variable in self._phases[0].coming():
            self.counts.cp.add_hint(variable, placement.get((template, cell), 0))


def _holds(phases: int, *, one_by_one: bool) -> Holds:
    if not phases:
        return Holds.AT_ANY_TURN
    if one_by_one:
        return Holds.AFTER_A_POD
    return Holds.AT_THE_END if phases == 1 else Holds.AFTER_A_PHASE


def _asked(profiles: Iterable[Carried]) -> dict[str, set[int]]:
    """For every family the templates whose own profile has it."""
    found: dict[str, set[int]] = defaultdict(set)
    for families, carriers in profiles:
        for family in families:
            found[family.name].update(carriers)
    return found


def values_of(
    solver: cp_model.CpSolver, variables: Iterable[tuple[int, int, cp_model.IntVar]]
) -> dict[tuple[int, int], int]:
    """The number of each template and cell that is not 0."""
    return {(t, cell): count for t, cell, variable in variables if (count := solver.value(variable))}
