"""A watcher of long reading: it is told how far it is, and decides nothing."""

from collections.abc import Callable
from contextvars import ContextVar

#: Called with a few words; None where progress is not shown.
ONLOOKER: ContextVar[Callable[[str], None] | None] = ContextVar("onlooker", default=None)
_EVERY = 500


def counted(read: Callable[[bytes], bool], size: int) -> Callable[[bytes], bool]:
    """The same reader of objects, with the onlooker told how many of how many bytes there were."""
    tell = ONLOOKER.get()
    if tell is None:
        return read
    objects = done = 0

    def reading(text: bytes) -> bool:
        nonlocal objects, done
        objects, done = objects + 1, done + len(text)
        if objects % _EVERY == 0:
            tell(f"{objects:,} objects, {100 * done // max(size, 1)} %")
        return read(text)

    return reading
