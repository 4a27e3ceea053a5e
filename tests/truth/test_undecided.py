"""Nothing is said without a condition that depends on what the snapshot does not tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from planner import solve
from tests import seeds
from tests.truth import undecided_claims
from tests.truth.undecided_claims import refuted

_COMPLETIONS = 3


def test_no_claim_is_refuted_by_what_may_be_true() -> None:
    """Undecided nodes turn out fit or unfit: plans stay valid, bounds hold, and all else has a word of it."""
    for number in seeds.seeds_for(0.15):
        found = list(refuted(number, _COMPLETIONS))
        assert not found, f"seed {number}: {found}"


def _unconditional(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that says nothing of what its bounds assume."""

    def asked(*given: Any, **options: Any) -> Any:
        plan = command(*given, **options)
        stages = tuple(stage.model_copy(update={"assumes": ()}) for stage in plan.objective)
        return plan.model_copy(update={"objective": stages})

    return asked


def test_a_claim_without_its_condition_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planner that calls all of its bounds unconditional is found out."""
    monkeypatch.setattr(undecided_claims, "solve", _unconditional(solve))
    assert any(any(refuted(number, _COMPLETIONS)) for number in range(20))
