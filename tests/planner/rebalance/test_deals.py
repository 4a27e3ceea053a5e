"""Which deals of moves follow each other."""

from collections.abc import Callable

import pytest

from planner import rebalance
from planner.proof import effort
from planner.rebalance.certain_waves import CertainWaves
from planner.rebalance.deals import Deals, Dealt
from planner.rebalance.phases import Stage
from planner.rebalance.single_file import SingleFile
from planner.rebalance.waves import Waves
from tests.planner.rebalance.lopsided import lopsided

Dealer = Waves | CertainWaves | SingleFile


@pytest.mark.parametrize(("then", "given_up"), [(0.5, True), (effort.ASTRAY / 2, False)])
def test_who_has_no_turn_goes_first_unless_that_leads_astray(
    monkeypatch: pytest.MonkeyPatch, then: float, given_up: bool
) -> None:
    """One move has no turn; with it first so many have none: the next deal has nobody first if many."""
    firsts = list[set[int]]()

    def dealt(deals: Deals, stage: Stage, dealer: Dealer, is_over: Callable[[], bool]) -> Dealt:
        firsts.append({*dealer._first} if isinstance(dealer, Waves) else set())
        left = dealer._left[: 1 if len(firsts) == 1 else 1 + int(then * len(dealer._left))]
        return Dealt((), left, (len(left), 0))

    monkeypatch.setattr(Deals, "_dealt", dealt)
    rebalance(lopsided(5006, "tight"), time_limit=20)
    assert (firsts[0], firsts[1] == set(), firsts[2] == set()) == (set(), False, given_up)
