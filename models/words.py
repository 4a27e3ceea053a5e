"""Numbers and names in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{number} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    """`pod` of one, else `pods`."""
    return noun if number == 1 else f"{noun}s"


def are(number: int) -> str:
    """`is` of one, else `are`."""
    return "is" if number == 1 else "are"


def listed(names: Iterable[str], most: int = 3) -> str:
    """A few names, and that there are more of them."""
    found = list(names)
    return ", ".join(found[:most]) + (", ..." if len(found) > most else "")


def value_told(value: str) -> str:
    """The value of a label in a sentence: one that is empty is told from none at all."""
    return value or '""'


def priced(cost: float) -> str:
    """A cost with all of its decimals, of which there are six at most: a bound is not rounded up."""
    return f"{cost:.6f}".rstrip("0").rstrip(".")
