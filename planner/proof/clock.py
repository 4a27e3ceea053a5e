"""How much time is left, and whether the user wants the best answer now."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")
#: Told how many are done, of how many.
Progress = Callable[[int, int], None]
#: How often a long computation is asked whether it should stop, in seconds.
_POLL_SECONDS = 0.05


@dataclass
class SearchProgress:
    """What a search shows on the progress line: what it looks for, what it has, and when its limit ends.

    Nothing is ever decided by it.
    """

    looking_for: str = ""
    best: str = ""
    ends: float | None = None


#: The progress of the search that runs; None where it is not shown.
SEARCH_PROGRESS: ContextVar[SearchProgress | None] = ContextVar("search_progress", default=None)


def looking_for(what: str) -> None:
    """Show what is looked for."""
    if (progress := SEARCH_PROGRESS.get()) is not None:
        progress.looking_for = what


def report_best(best: str) -> None:
    """Show the best answer so far, and the bound that no answer exceeds."""
    if (progress := SEARCH_PROGRESS.get()) is not None:
        progress.best = best


def is_stop_requested(stop_event: threading.Event | None) -> bool:
    """Whether the user wants the answer now, however good."""
    return stop_event is not None and stop_event.is_set()


class _Left(BaseException):
    """Raised in the middle of work that a stop may end anywhere."""


_MAY_BE_LEFT: ContextVar[bool] = ContextVar("may_be_left", default=False)


def taken_until_stop(results: Iterable[_T], stop_event: threading.Event | None) -> list[_T]:
    """The results before a stop, and the first one after it; Ctrl-C ends the work on one wherever it is."""
    found: list[_T] = []
    try:
        _MAY_BE_LEFT.set(True)
        for one in results:
            found.append(one)
            if is_stop_requested(stop_event):
                break
        _MAY_BE_LEFT.set(False)
    except _Left:
        pass
    finally:
        _MAY_BE_LEFT.set(False)
    return found


def leave() -> None:
    """End the work that a stop may end anywhere, if this thread is at some; a signal handler calls it."""
    if _MAY_BE_LEFT.get():
        raise _Left


class Clock:
    """A limit on the time from now on, and a stop event that may be set before."""

    def __init__(self, seconds: float, stop_event: threading.Event | None = None) -> None:
        self._end = time.monotonic() + seconds
        if (progress := SEARCH_PROGRESS.get()) is not None:
            progress.ends = max(self._end, progress.ends or 0.0)
        self._stop_event = threading.Event() if stop_event is None else stop_event

    def left(self) -> float:
        """The seconds that are left; 0 once the stop event is set."""
        return 0.0 if self._stop_event.is_set() else max(0.0, self._end - time.monotonic())

    def limit_is_over(self) -> bool:
        """Whether no seconds are left, whatever the stop event is."""
        return time.monotonic() >= self._end

    @property
    def stopped(self) -> bool:
        """Whether the user wants the answer now, however good."""
        return self._stop_event.is_set()

    def over(self) -> bool:
        """Whether it is time to stop."""
        return self.left() <= 0

    def watch(self, stop: Callable[[], None], work: Callable[[], _T]) -> _T:
        """What `work` returns; it is told to stop when the stop event is set.

        The work is done in a thread of its own, so that signals reach this one.
        """
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(work)
            try:
                while not future.done():
                    wait([future], timeout=_POLL_SECONDS)
                    if self._stop_event.is_set():
                        stop()
            finally:
                # What has not begun yet stops only when it is told once more.
                while not future.done():
                    stop()
                    wait([future], timeout=_POLL_SECONDS)
            return future.result()
