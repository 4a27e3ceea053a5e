"""Garbage collection, switched off while very many objects are made that all stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_OLD_LEFT_ALONE: ContextVar[bool] = ContextVar("old_left_alone", default=False)

#: So many new objects before the young ones are looked through.
_SELDOM = 50_000


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile: among millions of new objects it would find none.

    They are old at once, so the next small collection does not go through all of them either.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not _OLD_LEFT_ALONE.get():
            gc.freeze()
            gc.unfreeze()
        if was_enabled:
            gc.enable()


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
