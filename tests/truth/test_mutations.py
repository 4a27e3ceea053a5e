"""What `diff` says of two snapshots, beside what was changed between them."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests import seeds
from tests.truth.mutations import draw, refuted


def test_what_was_changed_is_named_and_nothing_else() -> None:
    """Nodes that are others, pods that moved, wait or have a node, under their names or as replacements."""
    for seed in seeds.seeds_for(0.1):
        assert [*refuted(*draw(seed))] == [], f"seed {seed}"


@pytest.mark.parametrize("part", ["_pending", "_moved"])
def test_what_is_left_out_is_noticed(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither pods that wait nor those that moved."""
    nothing: object = ([], {}) if part == "_moved" else ()
    monkeypatch.setattr(import_module("planner.audit.diff"), part, lambda *_: nothing)
    assert any([*refuted(*draw(seed))] for seed in range(20))
