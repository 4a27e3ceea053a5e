"""The numbers of a StatefulSet's replicas, with some left out."""

from hypothesis import given
from hypothesis import strategies as st

from models.objects.ordinals import ordinals

RANGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=5)


@given(st.integers(0, 8), st.integers(0, 8), RANGES)
def test_the_first_numbers_that_are_not_reserved(
    start: int, number: int, reserved: list[tuple[int, int]]
) -> None:
    """So many from the first one on; a range that ends before it begins reserves nothing."""
    taken = {one for first, last in reserved for one in range(first, last + 1)}
    free = [one for one in range(start, start + number + 40) if one not in taken]
    assert list(ordinals(start, number, [f"{first}-{last}" for first, last in reserved])) == free[:number]


def test_a_range_as_long_as_the_numbers_go_costs_nothing() -> None:
    """It is stepped over at once."""
    assert list(ordinals(0, 2, ["0-999999999"])) == [1_000_000_000, 1_000_000_001]
