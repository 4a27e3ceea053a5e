"""What the solver itself does wrong does not end a run."""

from ortools.sat.python import cp_model

from planner.cpsat.solver import solved
from planner.proof.meter import Meter


def with_a_hint_that_presolve_loses() -> cp_model.CpModel:
    """Three pods on three nodes, hinted where they go but not how full the fullest node is then."""
    cp = cp_model.CpModel()
    only, *others = [cp.new_bool_var("") for _ in range(7)]
    medium, small = others[:3], others[3:]
    percent = cp.new_int_var(1, 100, "")
    size, middle, least = 2748779069441, 2049, 97
    rooms = (size, 13652, 2748779055692)
    cp.add(only <= 1)
    cp.add(sum(medium) <= 1)
    cp.add(sum(small) <= 1)
    for node, room in enumerate(rooms):
        coming = [*([only] if node == 0 else []), medium[node], small[node]]
        sizes = [*([size] if node == 0 else []), middle, least]
        cp.add(sum(coming) <= 3)
        load = sum(variable * amount for variable, amount in zip(coming, sizes, strict=True))
        cp.add(load <= room)
        before = size - room if node == 2 else 0
        cp.add((size if node == 2 else room) * percent >= 100 * (load + before))
    for variable, value in zip((only, *medium, *small), (0, 1, 0, 0, 1, 0, 0), strict=True):
        cp.add_hint(variable, value)
    cp.maximize(only + sum(medium) + sum(small))
    return cp


def test_a_hint_that_presolve_loses_is_given_up() -> None:
    """The answer is the best without the hint; the solver threw out of its presolve."""
    result = solved(with_a_hint_that_presolve_loses(), Meter.of(30.0), 10.0)
    assert result.best
    assert result.solver.objective_value == 3
