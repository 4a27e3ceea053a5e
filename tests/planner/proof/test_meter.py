"""Work is counted, parts draw on the whole, and the limit remembers what it ended."""

import threading

from ortools.sat.python import cp_model

from planner.cpsat.solver import solved
from planner.proof import effort
from planner.proof.meter import Meter


def test_what_a_part_spends_the_whole_has_spent() -> None:
    """And no part has more than the whole."""
    whole = Meter.of(100.0)
    part = whole.part(10.0)
    part.spend(4.0)
    assert (part.left(), whole.left()) == (6.0, 100.0 * effort.WORK_PER_SECOND - 4.0)
    whole.spend(whole.left() - 1.0)
    assert part.left() == 1.0


def test_a_part_that_is_used_up_cuts_nothing() -> None:
    """A budget from the table ends a step; the search goes on with the next."""
    whole = Meter.of(100.0)
    part = whole.part(1.0)
    part.spend(1.0)
    assert part.over()
    assert not whole.over()
    assert whole.cut is None


def test_a_step_is_the_same_at_every_limit() -> None:
    """It draws on nothing: it has its whole budget even where the limit's work is done."""
    for seconds in (0.5, 50.0):
        whole = Meter.of(seconds)
        step = whole.step(3.0)
        whole.spend(whole.left())
        assert step.left() == 3.0
        assert not step.over()
        step.spend(1.0)
        assert step.part(9.0).left() == 2.0


def test_work_that_is_used_up_cuts_what_was_looked_for() -> None:
    """The first thing that the limit ended is remembered, not what was tried to be looked for afterwards."""
    whole = Meter.of(1.0)
    whole.look_for("a packing")
    whole.spend(1.0)
    assert whole.part(1.0).over()
    whole.look_for("fewer moves")
    assert whole.over()
    assert whole.cut == ("a packing", False)


def test_a_bell_cuts_steps_as_well() -> None:
    """A requested stop wants the answer now."""
    stop_event = threading.Event()
    whole = Meter.of(100.0, stop_event)
    step = whole.step(3.0)
    assert not step.over()
    stop_event.set()
    assert step.over()
    assert whole.stopped
    assert whole.cut == ("a plan", True)


def test_a_search_that_ended_by_itself_was_not_cut() -> None:
    """However late it is: only a search that would have gone on is cut short."""
    stop_event = threading.Event()
    whole = Meter.of(100.0, stop_event)
    stop_event.set()
    assert whole.cut is None


def _pigeons(number: int) -> cp_model.CpModel:
    """One pigeon more than holes, without any help."""
    cp = cp_model.CpModel()
    x = [[cp.new_bool_var("") for _ in range(number)] for _ in range(number + 1)]
    for row in x:
        cp.add_bool_or(row)
    for hole in range(number):
        for one in range(number + 1):
            for other in range(one):
                cp.add_bool_or([~x[one][hole], ~x[other][hole]])
    cp.maximize(sum((1 + i * j % 7) * v for i, row in enumerate(x) for j, v in enumerate(row)))
    return cp


def test_the_solver_s_work_is_on_the_meter() -> None:
    """What it reports, and a price for the model; the same every time."""
    spent = set()
    for _ in range(2):
        whole = Meter.of(100.0)
        before = whole.left()
        assert solved(_pigeons(6), whole, 50.0).impossible
        spent.add(before - whole.left())
    assert len(spent) == 1
    assert min(spent) > 0
    assert whole.cut is None


def test_a_solve_that_its_own_budget_ends_is_not_cut() -> None:
    """But one that the limit ends is."""
    for seconds, cut in ((100.0, None), (0.001, ("a plan", False))):
        whole = Meter.of(seconds)
        result = solved(_pigeons(40), whole, 0.01)
        assert not result.best
        assert not result.impossible
        assert whole.cut == cut
