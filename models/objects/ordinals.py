"""The numbers of a StatefulSet's replicas, and those that OpenKruise's StatefulSet leaves out."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import PlainValidator

_RANGE = re.compile(r"[0-9]{1,9}-[0-9]{1,9}", re.ASCII)


def _number_or_range(said: object) -> object:
    is_number = isinstance(said, int) and not isinstance(said, bool) and said >= 0
    if is_number or (isinstance(said, str) and _RANGE.fullmatch(said)):
        return said
    raise ValueError(f"expected a number or a range such as '3-5', found {said!r}")


OrdinalRange = Annotated[int | str, PlainValidator(_number_or_range)]


def ordinals(start: int, number: int, reserved: Iterable[OrdinalRange]) -> Sequence[int]:
    """So many numbers from the first one on, without those that are reserved."""
    found: list[int] = []
    following = start
    for first, last in sorted(filter(_is_one, map(_first_and_last, reserved))):
        found += range(following, min(first, following + number - len(found)))
        following = max(following, last + 1)
    rest = range(following, following + number - len(found))
    return [*found, *rest] if found else rest


def _first_and_last(said: OrdinalRange) -> tuple[int, int]:
    first, _, last = str(said).partition("-")
    return int(first), int(last or first)


def _is_one(found: tuple[int, int]) -> bool:
    """Whether a range ends no earlier than it begins."""
    return found[0] <= found[1]
