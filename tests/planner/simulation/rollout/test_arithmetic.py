"""The numbers of a Deployment's rolling update."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.objects.workload import UpdateStrategy
from planner.simulation.rollout.arithmetic import Margins, Size, new_size, old_sizes, shares

counts = st.integers(0, 20)
share = st.one_of(st.integers(0, 20), st.integers(0, 100).map(lambda number: f"{number}%"))


def margins(surge: int | str | None, unavailable: int | str | None, replicas: int) -> Margins:
    """What a strategy means."""
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return Margins.of(UpdateStrategy.model_validate({"rollingUpdate": rolling}), replicas)


@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        (None, None, 10, Margins(3, 2)),
        (None, None, 1, Margins(1, 0)),
        ("25%", "25%", 3, Margins(1, 0)),
        (0, 0, 5, Margins(0, 1)),
        ("0%", "10%", 5, Margins(0, 1)),
        ("100%", 0, 4, Margins(4, 0)),
        (1, 9, 4, Margins(1, 4)),
        (0, 1, 0, Margins(0, 0)),
    ],
)
def test_margins(surge: int | str, unavailable: int | str, replicas: int, expected: Margins) -> None:
    """Surge is rounded up and unavailable down; both at 0 would never move, so one may be away."""
    assert margins(surge, unavailable, replicas) == expected


@given(st.tuples(counts, share, share), st.tuples(counts, counts), st.tuples(counts, counts))
def test_no_step_breaks_what_was_promised(
    asked: tuple[int, int | str, int | str], fresh: tuple[int, int], before: tuple[int, int]
) -> None:
    """Never more pods asked for than wanted and surge, and taking available ones leaves enough of them."""
    wanted, surge, unavailable = asked
    may = margins(surge, unavailable, wanted)
    new, old = min(fresh[0], wanted), before[0]
    ready, well = min(fresh[1], new), min(before[1], old)
    grown = new_size(wanted, may, new, new + old)
    assert new <= grown <= max(new, wanted)
    assert grown + old <= max(new + old, wanted + may.surge)
    kept = old_sizes(wanted, may, Size(new, ready), [Size(old, well)])[0]
    assert 0 <= kept <= old
    taken_available = max(0, well - kept)
    assert not taken_available or ready + well - taken_available >= wanted - may.unavailable


@pytest.mark.parametrize(
    ("old", "kept"),
    [
        ([Size(6, 8)], [6]),
        ([Size(6, 6)], [5]),
        ([Size(1, 0), Size(6, 8)], [0, 6]),
        ([Size(0, 3), Size(6, 6)], [0, 2]),
    ],
)
def test_a_status_that_lags_behind_takes_no_pods(old: list[Size], kept: list[int]) -> None:
    """Where a status still counts pods that its ReplicaSet gave up, nothing more is taken in that sync.

    Counting them as available took three where one was allowed, and fewer pods were ready than ever happens.
    What an emptied ReplicaSet has left in its status is counted, as the controller does.
    """
    assert old_sizes(8, Margins(2, 2), Size(4, 1), old) == kept


@given(counts, counts, st.lists(st.integers(1, 10), min_size=2, max_size=4))
def test_shares_add_up(wanted: int, surge: int, sizes: list[int]) -> None:
    """After scaling, the ReplicaSets have together what the Deployment may have.

    What rounding leaves is the first one's, which cannot have fewer pods than none.
    """
    sizes.sort(reverse=True)
    known = [sum(sizes)] * len(sizes)
    found = shares(wanted, surge, sizes, known)
    assert all(size >= 0 for size in found)
    most = wanted + surge if wanted else 0
    assert sum(found) == most or (found[0] == 0 and sum(found) > most)


def test_a_share_of_nothing_is_nothing() -> None:
    """What went wrong: a division by zero where no ReplicaSet tells how many it was made for."""
    assert shares(0, 1, [2, 1], [None, None]) == [0, 0]
    assert shares(0, 1, [2, 1], [4, None]) == [0, 0]
