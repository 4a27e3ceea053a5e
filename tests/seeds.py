"""Seeds of random tests, fresh on every run, and how much such tests try.

`SEED=number` repeats a run; `EFFORT=30`, as in `make long`, tries thirty times as much.
"""

import os
import random
import time
from collections.abc import Iterable, Iterator, Sequence, Sized
from functools import cache
from typing import Any, TypeVar

import pytest

_Item = TypeVar("_Item")
EFFORT = int(os.environ.get("EFFORT") or 1)


def fresh() -> int:
    """A seed that no run has seen, one for a whole test, printed so that a failure can be repeated."""
    return _seed_of(os.environ.get("PYTEST_CURRENT_TEST", ""))


@cache
def _seed_of(_test: str) -> int:
    text = os.environ.get("SEED")
    seed = int(text) if text else random.SystemRandom().randrange(1 << 32)
    print(f"SEED={seed}")
    return seed


def given_and_fresh(*given: int) -> list[int | None]:
    """Values of a parameter: none, for a fresh seed, and in a long run these seeds, too."""
    return [*given, None] if EFFORT > 1 else [None]


def at_first(quick: int, given: Iterable[object]) -> list[Any]:
    """Values of a parameter, of which a quick run takes only so many, the first ones."""
    return [
        pytest.param(
            *value if isinstance(value, tuple) else [value], marks=[pytest.mark.long] * (at >= quick)
        )
        for at, value in enumerate(given)
    ]


def every(quick: int) -> int:
    """The step through a row of given cases: all of them in a long run."""
    return max(1, quick // EFFORT)


def some(given: Sequence[_Item], quick: int) -> Sequence[_Item]:
    """One in so many of these cases, others on every run; all of them in a long run."""
    step = every(quick)
    return given[fresh() % step :: step]


def tries(quick: int) -> int:
    """So many, and a multiple of it in a long run."""
    return quick * EFFORT


def until(quick: int, tried: Sized, least: int = 1) -> Iterator[int]:
    """So many draws, a multiple of it in a long run; up to twenty times as many until so much was tried."""
    for number in range(20 * tries(quick)):
        if number >= tries(quick) and len(tried) >= least:
            return
        yield number


def seeds(quick: int) -> Iterator[int]:
    """So many seeds in a row from a fresh one, and a multiple of it in a long run."""
    first = fresh()
    yield from range(first, first + tries(quick))


def seeds_for(seconds: float, tried: Sized | None = None) -> Iterator[int]:
    """Seeds in a row from a fresh one until so many seconds are over, at least one.

    Up to a hundred more until something was tried: on a slow machine the first may take all the time.
    """
    seed, end = fresh(), time.monotonic() + seconds * EFFORT
    last = seed + 100
    yield seed
    while time.monotonic() < end or (tried is not None and not tried and seed < last):
        seed += 1
        yield seed
