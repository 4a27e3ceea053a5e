"""What is drawn for a draw: everything that is possible, shared out among draws in a row."""

from __future__ import annotations

import itertools

from planner.simulation.rollout.pace import Pace
from tests import seeds


def test_sixteen_draws_share_out_every_range() -> None:
    """Drawn one by one, twenty draws could all have quick kubelets or all slow ones."""
    bounds = [3600 ** (share / 16) for share in range(17)]
    for first in (16, 160, 16 * (seeds.fresh() % 10_000)):
        found = [Pace(seed).later for seed in range(first, first + 16)]
        shares = [sum(low <= later <= high for later in found) for low, high in itertools.pairwise(bounds)]
        assert shares == [1] * 16, first


def test_the_same_seed_is_the_same_pace() -> None:
    """A draw can be told again; another one is another."""
    one, same, other = Pace(5), Pace(5), Pace(6)
    assert [one.reconcile(7) for _ in range(3)] == [same.reconcile(7) for _ in range(3)]
    assert one.later == same.later != other.later


def test_without_a_seed_nothing_is_left_to_chance() -> None:
    """Kubelets act together after whatever controllers do, and Jobs end after whatever kubelets do."""
    pace = Pace(None)
    assert pace.reconcile(1) < pace.start(0.5) == pace.end(0.5) < pace.work(0.5)
