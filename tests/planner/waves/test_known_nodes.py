"""Waves in which the node of every replacement is known: they hold in every order, with few pins."""

import pytest

from planner.proof import move_effort as effort
from tests import seeds
from tests.planner.waves.test_scarce_room import drawn_plan_holds


@pytest.fixture(autouse=True)
def nothing_else_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan small clusters, of which every path can be replayed, in the way kept for large full clusters."""
    monkeypatch.setattr(effort, "PLANNED_ONCE", 0)
    monkeypatch.setattr(effort, "SCARCE_MOVES", -1)
    monkeypatch.setattr(effort, "SCARCE_JUDGED", 0)


@pytest.mark.parametrize("kind", seeds.at_first(1, ["tight", "outage"]))
def test_every_plan_holds_wherever_replacements_land(kind: str) -> None:
    """Fresh clusters: random replays of the plan all end as the document says."""
    drawn_plan_holds(kind)
