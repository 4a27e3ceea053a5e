"""Waves in which the node of every replacement is known: they hold in every order, with few pins."""

from collections.abc import Callable, Sequence

import pytest

from planner import rebalance
from planner.moves.trial_cluster import Move
from planner.proof import effort
from planner.waves.known_place_waves import KnownPlaceWaves
from tests import seeds
from tests.planner.rebalance.lopsided import drawn, lopsided
from tests.planner.waves.test_scarce_room_waves import drawn_plan_holds, pins


@pytest.fixture(autouse=True)
def nothing_else_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan small clusters, of which every path can be replayed, in the way kept for large full clusters."""
    monkeypatch.setattr(effort, "PLANNED_ONCE", 0)
    monkeypatch.setattr(effort, "SCARCE_MOVES", -1)
    monkeypatch.setattr(effort, "SCARCE_JUDGED", 0)
    monkeypatch.setattr(effort, "SCARCE_SEARCHES", 0)


@pytest.mark.parametrize("kind", ["tight", "outage"])
def test_every_plan_holds_wherever_replacements_land(kind: str) -> None:
    """Fresh clusters: random replays of the plan all end as the document says."""
    drawn_plan_holds(kind)


def test_every_pod_is_on_one_node_until_only_one_size_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh clusters: as long as pods of two sizes are to come, every landing is on one node."""
    planned = list[KnownPlaceWaves]()
    plan_waves = KnownPlaceWaves.plan_waves

    def watched(waves: KnownPlaceWaves, is_over: Callable[[], bool]) -> Sequence[Move]:
        planned.append(waves)
        return plan_waves(waves, is_over)

    monkeypatch.setattr(KnownPlaceWaves, "plan_waves", watched)
    for seed in seeds.seeds(3):
        rebalance(drawn(seed, "tight"), time_limit=5)
    assert planned
    for waves in planned:
        landings = [landing for wave in waves.waves for landing in wave]
        left = [waves._order.size(move) for move in waves._left]
        for number, landing in enumerate(landings):
            coming = {waves._order.size(later.move) for later in landings[number:]}.union(left)
            assert int(landing.nodes.sum()) == 1 or len(coming) == 1, landing


@pytest.mark.parametrize("seed", [5000, 5003, 5006] if seeds.EFFORT > 1 else [5003])
def test_fewer_are_pinned_than_where_each_comes_to_the_planned_node(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """With as many moves and no more excess left."""
    given = lopsided(seed, "tight")
    known = rebalance(given, time_limit=20)
    monkeypatch.setattr(effort, "KNOWN_JUDGED", 0)
    planned = rebalance(given, time_limit=20)
    assert (known.after.hard_excess, len(known.steps)) == (planned.after.hard_excess, len(planned.steps))
    assert pins(known) * 2 < pins(planned)
