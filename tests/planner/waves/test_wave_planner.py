"""Which deals of moves follow each other."""

from collections.abc import Callable

import pytest

from planner import rebalance
from planner.moves.timeline import EvictionTimeline
from planner.proof import effort
from planner.waves.one_by_one import OneByOne
from planner.waves.open_waves import OpenWaves
from planner.waves.single_node_waves import SingleNodeWaves
from planner.waves.wave_planner import WavePlan, WavePlanner
from tests.planner.rebalance.lopsided import lopsided

Dealer = OpenWaves | SingleNodeWaves | OneByOne


@pytest.mark.parametrize(("then", "given_up"), [(0.5, True), (effort.MORE_UNSCHEDULED / 2, False)])
def test_who_has_no_turn_goes_first_unless_that_leads_astray(
    monkeypatch: pytest.MonkeyPatch, then: float, given_up: bool
) -> None:
    """One move has no turn; with it first so many have none: the next deal has nobody first if many."""
    firsts = list[set[int]]()

    def dealt(
        deals: WavePlanner, stage: EvictionTimeline, dealer: Dealer, is_over: Callable[[], bool]
    ) -> WavePlan:
        firsts.append({*dealer._first} if isinstance(dealer, OpenWaves) else set())
        left = dealer._left[: 1 if len(firsts) == 1 else 1 + int(then * len(dealer._left))]
        return WavePlan((), left, (len(left), 0))

    monkeypatch.setattr(WavePlanner, "_plan_with", dealt)
    rebalance(lopsided(5006, "tight"), time_limit=20)
    assert (firsts[0], firsts[1] == set(), firsts[2] == set()) == (set(), False, given_up)
