"""Minimal conflicts against every order of binds."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

import pytest

from models import Cluster
from planner.documents.explanation import ExplanationList
from tests import seeds
from tests.tiny import tiny
from tests.truth import conflicts
from tests.truth.conflicts import TooManyStates, refuted


def test_nothing_of_a_conflict_is_needless() -> None:
    """No order places its pods with its fields; without any one of either some order does."""
    for seed in seeds.seeds_for(0.1):
        with suppress(TooManyStates):
            assert [*refuted(tiny(seed), 3.0)] == [], f"seed {seed}"


def test_where_preemption_makes_room_for_all_no_conflict_is_wanted() -> None:
    """What went wrong: no pod stays pending, and that no order of binds places all was called a fault."""
    assert [*refuted(tiny(214), 3.0)] == []


def test_a_needless_field_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that the others do without is told beside them."""
    usual = import_module("planner.explain.explain").explain

    def planted(cluster: Cluster, batch: float) -> ExplanationList:
        found: ExplanationList = usual(cluster, batch=batch)
        if found.conflict is None or not found.conflict.fields:
            return found
        fewer = found.conflict.model_copy(update={"fields": found.conflict.fields[1:]})
        return found.model_copy(update={"conflict": fewer})

    monkeypatch.setattr(conflicts, "explain", planted)
    assert any([*refuted(tiny(seed), 3.0)] for seed in range(20))
