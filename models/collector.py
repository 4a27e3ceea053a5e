"""Garbage collection, switched off while very many objects are made that all stay."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_OLD_LEFT_ALONE: ContextVar[bool] = ContextVar("old_left_alone", default=False)

#: So many new objects before the young ones are looked through.
_SELDOM = 50_000
#: All is looked through once there is twice as much as after the last time, and so many blocks of memory.
_BLOCKS = 1_000_000
#: Counting the blocks goes through all memory: only once so many objects have come since.
_NEW_OBJECTS = 100_000


class _Growth:
    """How many blocks of memory there were when all had been looked through, or were made first."""

    def __init__(self) -> None:
        self._kept = 0
        self._new = 0

    def begin(self) -> None:
        """Remember the first time."""
        self._kept = self._kept or sys.getallocatedblocks()

    def add(self, objects: int) -> None:
        """So many are old that the collector has not looked at together."""
        self._new += objects

    def collect_if_due(self) -> None:
        """Look through all, where it has grown enough."""
        if not self._kept or self._new < _NEW_OBJECTS:
            return
        self._new = 0
        if sys.getallocatedblocks() > 2 * self._kept + _BLOCKS:
            gc.collect()
            self._kept = sys.getallocatedblocks()


_GROWTH = _Growth()


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile: among millions of new objects it would find none.

    They are old at once, so the next small collection does not go through all of them either.  Python would
    never come to look through the old ones then: a program that asks again and again has that done here.
    """
    was_enabled = gc.isenabled()
    if was_enabled:
        _GROWTH.collect_if_due()
    gc.disable()
    try:
        yield
    finally:
        if not _OLD_LEFT_ALONE.get():
            _GROWTH.add(_set_aside())
            gc.freeze()
            gc.unfreeze()
        if was_enabled:
            gc.enable()
            _GROWTH.begin()


def _set_aside() -> int:
    """How many objects are about to be old, at most: those that each small collection left are among them."""
    (young, small, larger), (seldom, often, _) = gc.get_count(), gc.get_threshold()
    return young + seldom * (small + often * larger)


@contextmanager
def old_left_alone() -> Iterator[None]:
    """Meanwhile `gc.collect` looks at what was made since alone: quick, however much there was before."""
    token = _OLD_LEFT_ALONE.set(True)
    thresholds = gc.get_threshold()
    gc.freeze()
    # Objects come and go by the thousand: less often is as good.
    gc.set_threshold(_SELDOM, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        _OLD_LEFT_ALONE.reset(token)
