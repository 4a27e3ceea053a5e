"""Quantities mean what `resource.Quantity` makes of them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from models.objects.quantity import ResourceList, format_quantity, milli, parse_quantity, whole

AMOUNTS = TypeAdapter(ResourceList)
NANO = 10**9
SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "e3": Fraction(1000), "E-2": Fraction(1, 100), "e+1": Fraction(10),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("500m", 500_000_000),
        ("2", 2 * NANO),
        (2, 2 * NANO),
        (0.1, NANO // 10),
        ("1Gi", 2**30 * NANO),
        ("1.5Gi", 3 * 2**29 * NANO),
        ("1e3", 1000 * NANO),
        ("1E3", 1000 * NANO),
        ("1E", 10**18 * NANO),
        ("1Ei", 2**60 * NANO),
        ("-1", -NANO),
        ("+.5", NANO // 2),
        ("5.", 5 * NANO),
        ("0.1n", 1),
        ("-0.1n", -1),
        ("1e-999999999", 1),
        ("1e999999999", (2**63 - 1) * NANO),
        ("100E", (2**63 - 1) * NANO),
        ("0e999999999", 0),
        (" 500m  ", 500_000_000),
        ("Mi", 0),
        ("-e3", 0),
        (".", 0),
        ("5.m", 5_000_000),
    ],
)
def test_known_quantities(text: str | float, nano: int) -> None:
    """Suffixes, exponents and signs count; finer than nano rounds away from zero; 2^63-1 caps."""
    assert parse_quantity(text) == nano


@pytest.mark.parametrize(
    "text",
    ["", "0.5x", "1K", "1ki", " ", "1 Gi", "\n1", "1e", "e", "1e1.5", "--1", "1,5", "٣", True, "1GiB",
     "9" * 5000, "NaN", "Infinity"],
)  # fmt: skip
def test_what_is_no_quantity(text: str) -> None:
    """Anything else is refused in words that show what was found and what was expected."""
    with pytest.raises(ValueError, match="is not a quantity \\(for example 500m or 2Gi\\)"):
        parse_quantity(text)


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.sampled_from(sorted(SUFFIXES)), st.booleans())
def test_a_quantity_is_its_number_times_its_suffix(
    before: int, after: int, suffix: str, negative: bool
) -> None:
    """The value is exact, except that it is rounded away from zero to whole nano units."""
    exact = Fraction(f"{before}.{after}") * SUFFIXES[suffix] * NANO
    size = min(-(-exact.numerator // exact.denominator), (2**63 - 1) * NANO)
    sign = "-" if negative else ""
    assert parse_quantity(f"{sign}{before}.{after}{suffix}") == (-size if negative else size)


@given(st.integers(0, 2**62))
def test_milli_and_whole_round_up(nano: int) -> None:
    """MilliValue() and Value() never promise less than what is there."""
    assert 0 <= milli(nano) * 10**6 - nano < 10**6
    assert 0 <= whole(nano) * NANO - nano < NANO


@given(st.integers(0, 2**62))
def test_an_amount_is_rounded_up_to_thousandths(nano: int) -> None:
    """The API server does so with every amount of its own, before amounts are added up."""
    text = f"{nano}n"
    assert AMOUNTS.validate_python({"cpu": text}) == {"cpu": milli(nano) * 10**6}


@given(st.integers(-(2**40), 2**80))
def test_a_printed_quantity_reads_back(nano: int) -> None:
    """What format_quantity prints is the same quantity."""
    assert parse_quantity(format_quantity(nano)) == nano


@pytest.mark.parametrize(
    ("nano", "text"),
    [(0, "0"), (NANO // 2, "500m"), (2 * NANO, "2"), (2048 * NANO, "2048"), (2**30 * NANO, "1Gi")],
)
def test_printed_quantities(nano: int, text: str) -> None:
    """CPUs stay plain numbers, memory gets its binary suffix."""
    assert format_quantity(nano) == text
