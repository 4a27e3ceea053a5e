"""A model of counting and room alone, given to a mixed-integer solver, with a bound that is exact.

SCIP finds the quotas of thousands of templates in some seconds, where CP-SAT finds none in its work.
Its numbers are not exact, so nothing that it says is taken on trust: a placement is rounded and checked
with whole numbers, and the bound is that of the linear relaxation, worked out from GLOP's dual values by
weak duality with whole numbers, too.  Whatever those values are, no placement exceeds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.linear_solver.python import model_builder
from ortools.sat.python import cp_model

from planner.cpsat.lexicographic import StageGoal
from planner.problem.nodes import Ints
from planner.proof import effort
from planner.proof.meter import Meter

#: The largest number that is a bound; beyond it a side of a row is open.
_OPEN = 1 << 62
#: A domain of one interval has so many ends.
_INTERVAL = 2
#: Dual values are rounded to multiples of this part of 1: those of rows in bytes are very small.
_PARTS = 1 << 60
#: By so much a value of the relaxation may miss a whole number.
_ROUNDING = 1e-6
_Floats = NDArray[np.float64]
_FOUND = (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE)


@dataclass(frozen=True, slots=True)
class LinearAnswer:
    """A value for every variable, and what each stage has and cannot exceed."""

    values: Ints
    reached: dict[str, int]
    bounds: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Relaxed:
    """A value for every variable that need not be whole, and a dual value for every row."""

    values: _Floats
    duals: Sequence[float]


@dataclass(frozen=True, slots=True)
class _Rows:
    """All rows `low <= sum of coefficients times variables <= high`, term by term."""

    row_of: Ints
    variable_of: Ints
    coefficient: Ints
    low: list[int]
    high: list[int]


def _is_plain(row: Any) -> bool:
    """Whether a row is linear, without a condition, and between two ends."""
    return row.has_linear() and not row.enforcement_literal and len(row.linear.domain) == _INTERVAL


class LinearModel:
    """The rows of a model for CP-SAT that are linear, with the ends of its domains; goals are to be large.

    Where others are left out it is a relaxation: its bounds hold, and what is found may break a condition.
    """

    def __init__(self, cp: cp_model.CpModel) -> None:
        proto = cp.proto
        self._cp = cp
        domains = [variable.domain for variable in proto.variables]
        self._low = np.array([domain[0] for domain in domains], np.int64)
        self._high = np.array([domain[len(domain) - 1] for domain in domains], np.int64)
        terms: list[tuple[list[int], list[int]]] = []
        low, high = [], []
        for row in proto.constraints:
            if not _is_plain(row):
                continue
            linear = row.linear
            terms.append(([*linear.vars], [*linear.coeffs]))
            low.append(linear.domain[0])
            high.append(linear.domain[1])
        sizes = [len(variables) for variables, _ in terms]
        self._rows = _Rows(
            np.repeat(np.arange(len(terms)), sizes),
            np.array([number for variables, _ in terms for number in variables], np.int64),
            np.array([number for _, coefficients in terms for number in coefficients], np.int64),
            low,
            high,
        )
        #: Whether nothing was left out: all rows are linear and without conditions, all domains intervals.
        self.is_complete = len(terms) == len(proto.constraints) and all(
            len(domain) == _INTERVAL for domain in domains
        )

    def bound(self, goal: StageGoal, meter: Meter) -> int:
        """What a goal cannot exceed, by the linear relaxation."""
        return self._bound(self._weights(goal), (), meter)

    def near(self, first: StageGoal, least: int, second: StageGoal, meter: Meter) -> Ints | None:
        """A value for every variable; None where nothing was found.

        Of all in which the first goal has so much the linear relaxation has the most of the second.  A
        mixed-integer solver says which of its numbers are rounded up, and which down.
        """
        weights = self._weights(first)
        relaxed = self._relaxed(self._weights(second), [(weights, least)], meter)
        every = range(len(weights))
        return None if relaxed is None else self._around(relaxed.values, every)._found(weights, (), meter)

    def rounded(self, goal: StageGoal, numbers: Sequence[int], meter: Meter) -> Ints | None:
        """The same near the most of a goal alone, where some variables are rounded and others free."""
        weights = self._weights(goal)
        relaxed = self._relaxed(weights, (), meter)
        return (
            None
            if relaxed is None
            else self._around(relaxed.values, numbers)._found(weights, (), meter, effort.ROUNDED_GAP)
        )

    def solve(self, goals: Sequence[StageGoal], meter: Meter) -> LinearAnswer | None:
        """The best found, one goal after the other; None where nothing was found that is certain."""
        fixed: list[tuple[Ints, int]] = []
        values, reached, bounds = self._low, dict[str, int](), dict[str, int]()
        for goal in goals:
            weights = self._weights(goal)
            found = self._found(weights, fixed, meter)
            bounds[goal.name] = self._bound(weights, fixed, meter)
            if found is None:
                return None
            values, reached[goal.name] = found, int(found @ weights)
            fixed.append((weights, reached[goal.name]))
        return LinearAnswer(values, reached, bounds)

    def _around(self, near: _Floats, numbers: Sequence[int]) -> LinearModel:
        """The same, and some variables are one of the two whole numbers beside a value, or one more."""
        box, some = copy(self), [*numbers]
        box._low, box._high = self._low.copy(), self._high.copy()
        box._low[some] = np.maximum(self._low, np.floor(near + _ROUNDING).astype(np.int64))[some]
        box._high[some] = np.minimum(self._high, np.ceil(near - _ROUNDING).astype(np.int64) + 1)[some]
        return box

    def _weights(self, goal: StageGoal) -> Ints:
        self._cp.minimize(goal.expression)
        weights = np.zeros(len(self._low), np.int64)
        objective = self._cp.proto.objective
        weights[[*objective.vars]] = [*objective.coeffs]
        return weights

    def _bound(self, weights: Ints, fixed: Sequence[tuple[Ints, int]], meter: Meter) -> int:
        """The bound of the linear relaxation; a weaker one where GLOP does not solve it."""
        relaxed = self._relaxed(weights, fixed, meter)
        return self._no_more_than(weights, fixed, () if relaxed is None else relaxed.duals)

    def _relaxed(self, weights: Ints, fixed: Sequence[tuple[Ints, int]], meter: Meter) -> _Relaxed | None:
        """The best of the linear relaxation; None where GLOP does not find it."""
        solver = self._solver("glop", meter)
        model = self._built(weights, fixed)
        if solver.solve(model) != model_builder.SolveStatus.OPTIMAL:
            return None
        duals = np.asarray(solver.dual_values(model.get_linear_constraints()))
        return _Relaxed(np.asarray(solver.values(model.get_variables())), duals.tolist())

    def _no_more_than(self, weights: Ints, fixed: Sequence[tuple[Ints, int]], duals: Sequence[float]) -> int:
        """No more than this, whatever the dual values are: by weak duality, in whole numbers.

        Every row, taken so many times as its dual value says, is a sum that is no larger than its side
        taken as often.  What that leaves of the goal is at most as large as the variables' domains allow.
        """
        every = [*self._sides(fixed)]
        parts = [round(-value * _PARTS) for value in duals] or [0] * len(every)
        left = weights.astype(object) * _PARTS
        total = 0
        for number, (low, high) in enumerate(every):
            side = high if parts[number] > 0 else low
            if parts[number] and abs(side) >= _OPEN:
                parts[number] = 0
            total += parts[number] * side if parts[number] else 0
        share = np.array(parts, object)
        used = np.zeros(len(weights), object)
        np.add.at(used, self._rows.variable_of, share[self._rows.row_of] * self._rows.coefficient)
        for (weight, _), part in zip(fixed, parts[len(self._rows.low) :], strict=True):
            used = used + weight.astype(object) * part
        left = left - used
        total += sum(
            part * (high if part > 0 else low)
            for part, low, high in zip(left.tolist(), self._low.tolist(), self._high.tolist(), strict=True)
            if part
        )
        return int(total // _PARTS)

    def _sides(self, fixed: Sequence[tuple[Ints, int]]) -> Iterator[tuple[int, int]]:
        yield from zip(self._rows.low, self._rows.high, strict=True)
        yield from ((value, _OPEN) for _, value in fixed)

    def _found(
        self, weights: Ints, fixed: Sequence[tuple[Ints, int]], meter: Meter, gap: float = 0.0
    ) -> Ints | None:
        """What SCIP finds, so near to the best, if all rows hold when it is rounded."""
        solver = self._solver("scip", meter, gap)
        model = self._built(weights, fixed, whole=True)
        status = meter.watch(solver.stop_search, lambda: solver.solve(model))
        if status != model_builder.SolveStatus.OPTIMAL:
            meter.cut_short()
        if status not in _FOUND:
            return None
        values = np.rint(np.asarray(solver.values(model.get_variables()))).astype(np.int64)
        return values if self._holds(values, fixed) else None

    def _holds(self, values: Ints, fixed: Sequence[tuple[Ints, int]]) -> bool:
        rows = self._rows
        sums = np.zeros(len(rows.low), np.int64)
        np.add.at(sums, rows.row_of, values[rows.variable_of] * rows.coefficient)
        inside = (values >= self._low).all() and (values <= self._high).all()
        held = all(weight @ values >= value for weight, value in fixed)
        return bool(inside and held and (sums >= rows.low).all() and (sums <= rows.high).all())

    def _solver(self, name: str, meter: Meter, gap: float = 0.0) -> model_builder.Solver:
        meter.spend(effort.PRICE_OF_MODEL * (len(self._low) + len(self._rows.low)))
        solver = model_builder.Solver(name)
        solver.set_time_limit_in_seconds(max(effort.LEAST_SECONDS, meter.seconds()))
        if name == "scip":
            # It would take Ctrl-C for itself, and say so on standard output.
            solver.set_solver_specific_parameters(
                f"limits/nodes = {effort.SCIP_NODES}\nlimits/gap = {gap}\nmisc/catchctrlc = FALSE"
            )
        return solver

    def _built(
        self, weights: Ints, fixed: Sequence[tuple[Ints, int]], *, whole: bool = False
    ) -> model_builder.Model:
        """The same for a mixed-integer solver; it minimises, so the weights have the other sign."""
        model = model_builder.Model()  # type: ignore[no-untyped-call]
        # Any: the stubs of its arrays name types that numpy's annotations cannot be.
        to: Any = model.helper
        low, high = self._low.astype(np.float64), self._high.astype(np.float64)
        to.add_var_array_with_bounds(low, high, np.full(len(low), whole), "")
        for least, most in self._sides(fixed):
            row = to.add_linear_constraint()
            if least > -_OPEN:
                to.set_constraint_lower_bound(row, least)
            if most < _OPEN:
                to.set_constraint_upper_bound(row, most)
        rows = self._rows
        terms = zip(rows.row_of.tolist(), rows.variable_of.tolist(), rows.coefficient.tolist(), strict=True)
        for row, variable, coefficient in terms:
            to.add_term_to_constraint(row, variable, coefficient)
        for place, (weight, _) in enumerate(fixed, start=len(rows.low)):
            for variable in np.flatnonzero(weight).tolist():
                to.add_term_to_constraint(place, variable, int(weight[variable]))
        for variable in np.flatnonzero(weights).tolist():
            to.set_var_objective_coefficient(variable, -int(weights[variable]))
        return model
