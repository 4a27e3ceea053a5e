"""Kubernetes quantities ("500m", "1Gi") as exact integers.

A quantity becomes a whole number of nano units, as fine as `resource.Quantity` itself stores.
What is finer than nano is rounded away from zero, what is larger than 2^63-1 units is capped, spaces around
it are passed over, and a suffix such as Mi without a number is 0, all as apimachinery does.
"""

import json
import re
from functools import lru_cache
from typing import Annotated

from pydantic import PlainValidator

_NANO_DIGITS = 9
_NANO = 1_000_000_000
_MILLI = 1_000_000
_LARGEST = (2**63 - 1) * _NANO
_LONGEST_TEXT = 100
_GRAMMAR = re.compile(
    r"(?=.)(?P<sign>[+-]?)(?P<whole>\d*)(?:\.(?P<part>\d*))?"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?\d+)|(?P<decimal>[numkMGTPE]?))",
    re.ASCII,
)
_BINARY = {f"{letter}i": 1 << 10 * power for power, letter in enumerate("KMGTPE", start=1)}
_DECIMAL = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip


@lru_cache(maxsize=65_536, typed=True)
def parse_quantity(text: str | int | float) -> int:
    """The exact number of nano units, rounded away from zero where it is finer than that."""
    found = _GRAMMAR.fullmatch(str(text).strip(" ")) if _may_be_quantity(text) else None
    if found is None:
        raise ValueError(_no_quantity(text))
    part = found["part"] or ""
    digits = int(found["whole"] + part or 0)
    size = _nano(digits, _power_of_ten(found) - len(part), _BINARY.get(found["binary"] or "", 1))
    return -size if found["sign"] == "-" else size


def milli(nano: int) -> int:
    """Thousandths, rounded up: what `Quantity.MilliValue()` gives."""
    return -(-nano // _MILLI)


def whole(nano: int) -> int:
    """Whole units, rounded up: what `Quantity.Value()` gives."""
    return -(-nano // _NANO)


def format_quantity(nano: int) -> str:
    """The usual spelling: from a mebi on with a binary suffix, below one with m, u or n."""
    if nano % _NANO == 0:
        units = nano // _NANO
        for suffix, size in reversed(_BINARY.items()):
            if abs(units) >= _BINARY["Mi"] and units % size == 0:
                return f"{units // size}{suffix}"
        return str(units)
    for suffix in ("m", "u", "n"):
        scale = _ten_to(_NANO_DIGITS + _DECIMAL[suffix])
        if nano % scale == 0:
            break
    return f"{nano // scale}{suffix}"


def _may_be_quantity(text: str | int | float) -> bool:
    return not isinstance(text, bool) and len(str(text)) <= _LONGEST_TEXT


def _power_of_ten(found: re.Match[str]) -> int:
    if found["exponent"] is not None:
        return int(found["exponent"])
    return _DECIMAL[found["decimal"] or ""]


def _nano(digits: int, power_of_ten: int, factor: int) -> int:
    """`digits * 10**power_of_ten * factor` in nano units, without ever building a huge power."""
    power = power_of_ten + _NANO_DIGITS
    if digits == 0:
        return 0
    if power >= 0:
        return min(digits * factor * _ten_to(min(power, 40)), _LARGEST)
    return min(-(-digits * factor // _ten_to(min(-power, 400))), _LARGEST)


def _ten_to(power: int) -> int:
    result: int = 10**power
    return result


def _from_input(value: object) -> int:
    if isinstance(value, str | int | float):
        return parse_quantity(value)
    raise ValueError(_no_quantity(value))


def _no_quantity(value: object) -> str:
    """What is wrong with a value, spelled as in a manifest."""
    spelled = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    return f"{spelled} is not a quantity (for example 500m or 2Gi)"


def _amount(value: object) -> int:
    nano = 0 if value is None else _from_input(value)
    if nano < 0:
        raise ValueError(f"{value!r} is negative")
    return milli(nano) * _MILLI


Quantity = Annotated[int, PlainValidator(_from_input)]
"""A quantity field: any Kubernetes spelling in, nano units out."""

ResourceList = dict[str, Annotated[int, PlainValidator(_amount)]]
"""Resource name to nano units, rounded up to thousandths; a negative amount is refused, and `null` is 0,
as for the API server."""
