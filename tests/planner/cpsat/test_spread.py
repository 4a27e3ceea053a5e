"""The one encoding of a spread constraint, against plain counting."""

import random
from typing import Any

import pytest
from ortools.sat.python import cp_model

from planner.cpsat.spread import DomainPods, Spread
from tests import seeds


def least(cp: cp_model.CpModel, expression: Any) -> int | None:
    """The smallest value of an expression; None where the model has no solution."""
    cp.minimize(expression)
    solver = cp_model.CpSolver()
    found = solver.solve(cp)
    return int(solver.value(expression)) if found == cp_model.OPTIMAL else None


def drawn(draw: random.Random) -> tuple[list[int], int, bool, int | None]:
    """The pods of a few domains, maxSkew, whether there are too few domains, and what others hold."""
    counts = [draw.randint(0, 6) for _ in range(draw.randint(1, 4))]
    return counts, draw.randint(1, 3), draw.random() < 0.2, draw.choice((None, None, 0, 1, 3))


@pytest.mark.parametrize("turn", range(seeds.tries(40)))
def test_the_excess_and_the_skew_are_what_counting_says(turn: int) -> None:
    """Where pods could be anywhere and are then fixed, nothing more and nothing less is too many."""
    draw = random.Random(seeds.fresh() + turn)
    counts, max_skew, few, outside = drawn(draw)
    asked = [draw.random() < 0.7 for _ in counts]
    minimum = 0 if few else min([*counts, *([] if outside is None else [outside])])
    cp = cp_model.CpModel()
    pods = [cp.new_int_var(draw.randint(0, count), draw.randint(count, 8), "") for count in counts]
    asking = [cp.new_int_var(0, 1, "") for _ in counts]
    domains = [
        DomainPods(variable, min(variable.proto.domain), max(variable.proto.domain)) for variable in pods
    ]
    spread = Spread(cp, domains, max_skew, few_domains=few, ceiling=outside)
    over = sum(
        spread.excess(domain, DomainPods(asks, 0, 1)) for domain, asks in zip(domains, asking, strict=True)
    )
    for variable, number in zip([*pods, *asking], [*counts, *map(int, asked)], strict=True):
        cp.add(variable == number)
    wanted = sum(
        max(0, count - minimum - max_skew) for count, asks in zip(counts, asked, strict=True) if asks
    )
    assert least(cp, over) == wanted
    if outside is None:
        assert least(cp, spread.skew()) == max(counts) - minimum


@pytest.mark.parametrize("turn", range(seeds.tries(20)))
def test_what_is_allowed_is_what_no_domain_has_too_many_of(turn: int) -> None:
    """Required in every domain it holds exactly where counting finds no excess."""
    counts, max_skew, few, outside = drawn(random.Random(seeds.fresh() + turn))
    minimum = 0 if few else min([*counts, *([] if outside is None else [outside])])
    cp = cp_model.CpModel()
    pods = [cp.new_int_var(0, 8, "") for _ in counts]
    spread = Spread(cp, [DomainPods(pod, 0, 8) for pod in pods], max_skew, few_domains=few, ceiling=outside)
    for variable, number in zip(pods, counts, strict=True):
        cp.add(variable == number)
        cp.add(variable <= spread.allowed)
    assert (least(cp, 0 * pods[0]) is not None) is all(count <= minimum + max_skew for count in counts)
