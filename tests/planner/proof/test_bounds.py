"""The proof kernel: the only place that says `proved`, and the one that refuses to hide a wrong bound."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.output.views.stages import assumed
from models.errors import InternalError
from planner.proof.bounds import RULES, Assumption, Bound, Claim, Measured, ObjectiveStage, judge, status_of

FIRST = frozenset({Assumption.EVICTIONS_FIRST})


def only(value: int, *bounds: Bound, largest: bool = True) -> ObjectiveStage:
    """The verdict on a plan of one stage."""
    (stage,) = judge([Measured("s", value, largest)], [Claim("s", bound) for bound in bounds])
    return stage


def test_a_reached_bound_is_a_proof() -> None:
    """The tightest of several bounds decides."""
    stage = only(3, Bound(5, "counting"), Bound(3, "the model"))
    assert (stage.bound, stage.proved) == (Bound(3, "the model"), True)


def test_an_unknown_bound_is_none() -> None:
    """What went wrong: the value was printed as its own bound."""
    stage = only(3)
    assert (stage.proved, stage.objective().bound) == (False, None)


@pytest.mark.parametrize(("value", "bound", "largest"), [(4, 3, True), (2, 3, False)])
def test_a_beaten_bound_is_an_error(value: int, bound: int, largest: bool) -> None:
    """What went wrong: the bound was moved to the value, and the plan called proved."""
    with pytest.raises(InternalError, match=f"a plan has {value}, and the model says .* than {bound}"):
        only(value, Bound(bound, "the model"), Bound(9 if largest else 0, "counting"), largest=largest)


def test_the_least_assumption_is_told() -> None:
    """Of two bounds with one value the one that holds for more plans."""
    assert only(3, Bound(3, "a", FIRST), Bound(3, "b")).objective().assumes == ()
    assert only(3, Bound(3, "a", FIRST), Bound(4, "b")).objective().assumes == ("EvictionsFirst",)


def test_a_bound_does_not_speak_of_plans_that_break_its_assumption() -> None:
    """A plan that evicts between binds may beat a bound on those that evict first."""
    claims = [Claim("s", Bound(3, "a", FIRST)), Claim("s", Bound(9, "b"))]
    (stage,) = judge([Measured("s", 4)], claims, breaks=FIRST)
    assert (stage.bound, stage.proved) == (Bound(9, "b"), False)


@pytest.mark.parametrize("assumption", Assumption)
def test_a_status_is_conditional_unless_a_rule_is_assumed(assumption: Assumption) -> None:
    """`Optimal` means that no plan is better which the question allows, so it can be tested for alone."""
    stage = only(3, Bound(3, "the model", frozenset({assumption})))
    assert status_of([stage]) == ("Optimal" if assumption in RULES else "ConditionallyOptimal")
    assert status_of([only(3, Bound(3, "counting"))]) == "Optimal"
    assert status_of([stage, only(3, Bound(4, "counting"))]) == "Feasible"


@pytest.mark.parametrize("assumption", Assumption)
def test_what_a_bound_may_assume_is_explained(assumption: Assumption) -> None:
    """Every value of `assumes` has a row in docs/proof.md, and words in the tables."""
    proof = (Path(__file__).parents[3] / "docs" / "proof.md").read_text()
    assert f"| `{assumption}` |" in proof
    assert assumed([only(3, Bound(3, "the model", frozenset({assumption}))).objective()])


def test_a_claim_given_other_values_is_silent() -> None:
    """A later stage's bound holds for plans with the same values before."""
    claims = [Claim("a", Bound(5, "x")), Claim("b", Bound(2, "x"), {"a": 5})]
    stages = list(judge([Measured("a", 4), Measured("b", 7)], claims))
    assert [stage.bound for stage in stages] == [Bound(5, "x"), None]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4))
def test_a_stage_is_proved_with_those_before_it(pairs: list[tuple[int, int]]) -> None:
    """A proof ends at the first stage whose bound is not reached."""
    plan = [Measured(str(number), value) for number, (value, _) in enumerate(pairs)]
    claims = [Claim(str(number), Bound(value + gap, "x")) for number, (value, gap) in enumerate(pairs)]
    proved = [stage.proved for stage in judge(plan, claims)]
    assert proved == [all(not gap for _, gap in pairs[: n + 1]) for n in range(len(pairs))]
