"""The solver, set up so that it finds the same answer on every machine."""

from __future__ import annotations

from ortools.sat.python import cp_model

from planner.clock import Clock

#: One worker finds the same plan however many cores there are.
_WORKERS = 1
_SEED = 1


def new_solver(clock: Clock, effort: float | None = None) -> cp_model.CpSolver:
    """A solver for the time that is left; `effort` limits its work in its own unit, about seconds."""
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(0.05, clock.left())
    if effort is not None:
        solver.parameters.max_deterministic_time = effort
    solver.parameters.num_workers = _WORKERS
    solver.parameters.random_seed = _SEED
    solver.parameters.catch_sigint_signal = False
    return solver
