"""What `explain` tells, beside every single change of a pod's own manifest."""

from __future__ import annotations

import pytest

from planner.explain import spread_rules
from tests import seeds
from tests.tiny import tiny
from tests.truth.single_changes import refuted


def test_what_helps_is_told_and_no_more_of_it_than_need_be() -> None:
    """The least maxSkew, the largest request, and some change of every kind of which one gives a node."""
    for seed in seeds.seeds_for(0.1):
        assert [*refuted(tiny(seed))] == [], f"seed {seed}"


def test_a_kind_of_change_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No constraint is offered to be made soft, or raised."""
    monkeypatch.setattr(spread_rules, "_relax", lambda *_: iter(()))
    assert any([*refuted(tiny(seed))] for seed in range(60))
