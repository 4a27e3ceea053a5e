"""Progress of long reading: an observer is told how far it is, and decides nothing."""

from collections.abc import Callable
from contextvars import ContextVar

#: Called with a few words; None where progress is not shown.
READING_PROGRESS: ContextVar[Callable[[str], None] | None] = ContextVar("reading_progress", default=None)
_EVERY = 500


Reader = Callable[[bytes], bool]
Recogniser = Callable[[bytes, int], int | None]


def counted(read: Reader, recognise: Recogniser, size: int) -> tuple[Reader, Recogniser]:
    """The same readers of objects, with the observer told how many of how many bytes there were."""
    tell = READING_PROGRESS.get()
    if tell is None:
        return read, recognise
    objects = done = 0

    def count(length: int) -> None:
        nonlocal objects, done
        objects, done = objects + 1, done + length
        if objects % _EVERY == 0:
            tell(f"{objects:,} objects, {100 * done // max(size, 1)} %")

    def reading(text: bytes) -> bool:
        count(len(text))
        return read(text)

    def recognising(text: bytes, begin: int) -> int | None:
        following = recognise(text, begin)
        if following is not None:
            count(following - begin)
        return following

    return reading, recognising
