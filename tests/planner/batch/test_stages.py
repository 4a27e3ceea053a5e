"""Stages of a model: each starts from the one before, whatever conditions were added in between."""

import pytest
from ortools.sat.python import cp_model

from models.errors import InternalError
from planner.cpsat.solver import hint_all, solved
from planner.proof.meter import Meter


def test_a_stage_follows_a_condition_that_is_plainly_true() -> None:
    """Such a condition makes the solver a variable that the solution before has no value of."""
    cp = cp_model.CpModel()
    chosen = cp.new_bool_var("chosen")
    cp.maximize(chosen)
    first = solved(cp, Meter.of(10.0), 1.0)
    cp.add(True)
    hint_all(cp, first.solver)
    cp.minimize(chosen)
    assert solved(cp, Meter.of(10.0), 1.0).best


def test_a_model_without_sense_is_a_mistake() -> None:
    """It is not taken for a question that stayed open."""
    cp = cp_model.CpModel()
    cp.new_bool_var("one")
    cp.proto.solution_hint.vars.append(0)
    with pytest.raises(InternalError, match="no sense"):
        solved(cp, Meter.of(10.0), 1.0)


def test_a_model_too_large_for_the_solver_stays_open() -> None:
    """Sums beyond its numbers are no mistake, and nothing is proved."""
    cp = cp_model.CpModel()
    amount = cp.new_int_var(0, 1 << 40, "amount")
    cp.add(amount * (1 << 40) <= 1 << 50)
    meter = Meter.of(10.0)
    answer = solved(cp, meter, 1.0)
    assert (answer.found, answer.impossible, answer.best) == (False, False, False)
    assert meter.cut is None
