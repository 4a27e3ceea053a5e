"""`--max-moves` and `--curve` where nodes are many: what few moves achieve, and its bound."""

from __future__ import annotations

import time

import pytest

from models import Cluster
from planner import consolidate


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Sixty nodes that are half empty; limits count the time of the processor."""
    from consolidation_large import objects

    monkeypatch.setattr(time, "monotonic", time.process_time)
    return Cluster.from_objects([*objects(60, 400, 30, 2)])


def test_the_bound_knows_how_few_pods_may_move(running: Cluster) -> None:
    """What went wrong: it was that of any number of moves, 16.136, and the plan 51.36."""
    from consolidate import PRICES

    plan = consolidate(running, prices=PRICES, max_moves=20, time_limit=2)
    assert plan.cost.bound == pytest.approx(49.89)
    assert plan.cost.bound <= plan.cost.after < 51


@pytest.mark.long
def test_a_curve_says_what_few_moves_achieve(running: Cluster) -> None:
    """What went wrong: there was no time left for searches with few moves once the first plan was made."""
    from consolidate import PRICES

    plan = consolidate(running, prices=PRICES, curve=True, time_limit=12)
    few = [point for point in plan.frontier if 0 < point.moves <= len(plan.steps) // 2]
    assert few
    assert min(point.cost for point in few) < (plan.cost.before + plan.cost.after) / 2


@pytest.mark.long
def test_a_curve_says_that_its_searches_were_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong: the first plan had a part of the work, at the end of which nothing was said.

    On a clock that stands still only the work ends the search, long before the cost is the bound.
    """
    from consolidate import PRICES
    from consolidation_large import objects

    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    cluster = Cluster.from_objects([*objects(18, 60, 45, 2)])
    plan = consolidate(cluster, prices=PRICES, curve=True, time_limit=1)
    assert plan.cost.bound < plan.cost.after
    assert plan.cut
