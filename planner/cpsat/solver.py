"""The solver, set up so that it finds the same answer on every machine."""

from __future__ import annotations

from ortools.sat.python import cp_model

from models.errors import InternalError
from planner.proof import effort
from planner.proof.meter import Meter

#: The shortest time that the solver is given, in seconds: none at all is no limit.
_SHORTEST_SECONDS = 0.05
_FOUND = (cp_model.OPTIMAL, cp_model.FEASIBLE)
_DECIDED = (cp_model.OPTIMAL, cp_model.INFEASIBLE)


class Solved:
    """What the solver found in a model."""

    def __init__(self, solver: cp_model.CpSolver, status: cp_model.CpSolverStatus) -> None:
        self.solver = solver
        self.found = status in _FOUND
        self.impossible = status == cp_model.INFEASIBLE
        self.best = status == cp_model.OPTIMAL


def solved(cp: cp_model.CpModel, meter: Meter, work: float, *, linear: bool = False) -> Solved:
    """The best that so much work finds; what it came to is on the meter.

    `linear` is for models of counting and room: with all of it in the relaxation the bound is nearly
    tight at once.
    """
    meter.spend(effort.PRICE_OF_MODEL * (len(cp.proto.variables) + len(cp.proto.constraints)))
    allowed = min(work, meter.left())
    solver = _solver(meter.seconds(), allowed)
    if linear:
        solver.parameters.linearization_level = 2
        solver.parameters.symmetry_level = 0
    status = meter.watch(solver.stop_search, lambda: _status(solver, cp))
    spent = solver.response_proto.deterministic_time
    meter.spend(spent)
    if status == cp_model.MODEL_INVALID:
        _may_be_too_large(cp.validate())
    elif status not in _DECIDED and spent < work:
        meter.cut_short()
    return Solved(solver, status)


def _status(solver: cp_model.CpSolver, cp: cp_model.CpModel) -> cp_model.CpSolverStatus:
    try:
        return solver.solve(cp)
    except IndexError:
        # Its presolve may lose track of a hint (google/or-tools issue 5288); without one it has none to lose.
        cp.clear_hints()  # type: ignore[no-untyped-call]
        return solver.solve(cp)


def _may_be_too_large(complaint: str) -> None:
    """A model whose sums are too large for the solver stays without an answer; any other is a mistake."""
    if "overflow" not in complaint:
        raise InternalError(f"a model makes no sense to the solver: {complaint.splitlines()[0]}")


def hint_all(cp: cp_model.CpModel, solver: cp_model.CpSolver) -> None:
    """Start the next stage from the solution of this one."""
    cp.clear_hints()  # type: ignore[no-untyped-call]
    # A condition that is plainly true has made a variable of its own since; it has no value to hint.
    values = solver.response_proto.solution
    cp.proto.solution_hint.vars.extend(range(len(values)))
    cp.proto.solution_hint.values.extend(values)


def _solver(seconds: float, work: float | None) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(_SHORTEST_SECONDS, seconds)
    if work is not None:
        solver.parameters.max_deterministic_time = work
    solver.parameters.num_workers = effort.SOLVER_WORKERS
    solver.parameters.random_seed = effort.SOLVER_SEED
    solver.parameters.catch_sigint_signal = False
    return solver
