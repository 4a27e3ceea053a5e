"""The attempts that follow each other when waves are planned."""

from collections.abc import Callable, Sequence

import pytest

from planner import rebalance
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import Move
from planner.proof import effort
from planner.waves.orders import CertainFirst, WaveOrder
from planner.waves.wave_plan import WavePlan
from planner.waves.wave_planner import WavePlanner
from tests.planner.rebalance.lopsided import lopsided


@pytest.mark.parametrize(("then", "given_up"), [(0.5, True), (effort.MORE_UNSCHEDULED / 2, False)])
def test_unscheduled_moves_go_first_unless_that_leaves_many_more(
    monkeypatch: pytest.MonkeyPatch, then: float, given_up: bool
) -> None:
    """If putting a move that was left over first leaves many over, the next attempt puts none first."""
    firsts = list[set[int]]()

    def planned(
        planner: WavePlanner,
        timeline: EvictionTimeline,
        order: WaveOrder,
        moves: Sequence[Move],
        is_over: Callable[[], bool],
    ) -> WavePlan:
        firsts.append({*order._candidates.first} if isinstance(order, CertainFirst) else set())
        left = moves[: 1 if len(firsts) == 1 else 1 + int(then * len(moves))]
        return WavePlan((), left, (len(left), 0))

    monkeypatch.setattr(WavePlanner, "_filled", planned)
    rebalance(lopsided(5006, "tight"), time_limit=20)
    assert (firsts[0], firsts[1] == set(), firsts[2] == set()) == (set(), False, given_up)
