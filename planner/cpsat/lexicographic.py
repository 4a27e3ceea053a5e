"""Objectives one after the other, the most important first: the one loop that every model solves with.

What an objective reached is a constraint of those that follow, and its solution is where they start.  The
bound of an objective is a proof only while those before it were proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from ortools.sat.python import cp_model

from planner.cpsat.solver import Solved, hint_all

#: How far a bound may be rounded before it counts as the next whole number.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class StageGoal:
    """Something to make as small as possible, or as large."""

    name: str
    expression: Any
    largest: bool = False


@dataclass(frozen=True, slots=True)
class Reached:
    """What was found for an objective, and what nothing is better than that does as well before."""

    name: str
    value: int
    bound: int
    solver: cp_model.CpSolver


_Goal = TypeVar("_Goal", bound=StageGoal)


def reach(
    cp: cp_model.CpModel, objectives: Iterable[_Goal], solve: Callable[[_Goal], Solved]
) -> Iterator[Reached]:
    """Every objective in order, as far as `solve` finds anything; the caller may stop after each."""
    for goal in objectives:
        (cp.maximize if goal.largest else cp.minimize)(goal.expression)
        result = solve(goal)
        if not result.found:
            return
        solver = result.solver
        value, bound = int(solver.value(goal.expression)), solver.best_objective_bound
        whole = math.floor(bound + _ROUNDING) if goal.largest else math.ceil(bound - _ROUNDING)
        yield Reached(goal.name, value, whole, solver)
        cp.add(goal.expression >= value if goal.largest else goal.expression <= value)
        hint_all(cp, solver)
