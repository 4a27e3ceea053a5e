"""How much time is left, and whether somebody wants the best answer now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")
#: How often a long computation is asked whether it should stop, in seconds.
_GLANCE = 0.05


@dataclass
class Sight:
    """What a search shows to whoever looks on: what it looks for, what it has, and when its limit ends.

    Nothing is ever decided by it.
    """

    looking_for: str = ""
    best: str = ""
    ends: float | None = None


#: The sight of the search that runs; None where nobody looks on.
SIGHT: ContextVar[Sight | None] = ContextVar("sight", default=None)


def looking_for(what: str) -> None:
    """Say to whoever looks on what is looked for."""
    if (sight := SIGHT.get()) is not None:
        sight.looking_for = what


def having(best: str) -> None:
    """Say to whoever looks on what the best answer so far is, and what none betters."""
    if (sight := SIGHT.get()) is not None:
        sight.best = best


def is_rung(bell: threading.Event | None) -> bool:
    """Whether somebody wants the answer now, however good."""
    return bell is not None and bell.is_set()


class Clock:
    """A limit on the time from now on, and a bell that may ring before."""

    def __init__(self, seconds: float, bell: threading.Event | None = None) -> None:
        self._end = time.monotonic() + seconds
        if (sight := SIGHT.get()) is not None:
            sight.ends = max(self._end, sight.ends or 0.0)
        self._bell = threading.Event() if bell is None else bell

    def left(self) -> float:
        """The seconds that are left; 0 once the bell has rung."""
        return 0.0 if self._bell.is_set() else max(0.0, self._end - time.monotonic())

    @property
    def stopped(self) -> bool:
        """Whether somebody wants the answer now, however good."""
        return self._bell.is_set()

    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.left() <= 0

    def watch(self, stop: Callable[[], None], work: Callable[[], _T]) -> _T:
        """What `work` returns; it is told to stop when the bell rings.

        The work is done in a thread of its own, so that signals reach this one.
        """
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(work)
            try:
                while not future.done():
                    wait([future], timeout=_GLANCE)
                    if self._bell.is_set():
                        stop()
            finally:
                if not future.done():
                    stop()
            return future.result()
