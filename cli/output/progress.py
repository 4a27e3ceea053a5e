"""A line on a terminal about what takes more than a moment: what is done, the best so far, the time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from cli.output.screen import width_of
from cli.output.table import elided, harmless
from models.reading.progress import READING_PROGRESS
from planner.proof.clock import SEARCH_PROGRESS, Progress, SearchProgress, report_best

_PATIENCE_SECONDS = 1.0
_REDRAW_SECONDS = 0.25
_GAP = " | "
#: A part that would have less room is left out.
_LEAST = 8
_WIPE = "\r\x1b[K"
#: The line that is on the terminal now, if there is one.
_current: list[_ProgressLine] = []


@contextmanager
def meter(unit: str) -> Iterator[Progress | None]:
    """Something to call with how many of how many are done; None where progress is not shown."""
    with _line(SearchProgress()) as line:
        yield None if line is None else line.counter(f"{{}} of {{}} {unit}")


@contextmanager
def search(what: str, *, stoppable: bool, best: str = "") -> Iterator[Progress | None]:
    """The same for a search: `best` has places for what it has and for what no answer betters."""
    with _line(SearchProgress(looking_for=what), stoppable=stoppable) as line:
        yield None if line is None else line.counter(best)


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Shows on the progress line what is done meanwhile."""
    with _line(SearchProgress(looking_for=what)):
        yield


@contextmanager
def reading(what: str) -> Iterator[None]:
    """The same, and how far it has been read."""
    with _line(SearchProgress(looking_for=what)) as line:
        token = READING_PROGRESS.set(None if line is None else report_best)
        try:
            yield
        finally:
            READING_PROGRESS.reset(token)


def wipe() -> None:
    """Make room for a line of text."""
    for line in _current:
        line.wipe()


@contextmanager
def _line(progress: SearchProgress, *, stoppable: bool = False) -> Iterator[_ProgressLine | None]:
    """A line that is drawn anew now and then until the end; None where progress is not shown."""
    if not sys.stderr.isatty() or _current:
        yield None
        return
    line = _ProgressLine(progress, sys.stderr, stoppable=stoppable)
    token = SEARCH_PROGRESS.set(progress)
    _current.append(line)
    try:
        with line:
            yield line
    finally:
        _current.remove(line)
        SEARCH_PROGRESS.reset(token)


class _ProgressLine:
    """Draws what is to be seen, from a thread of its own, once a second has passed."""

    def __init__(self, progress: SearchProgress, stream: TextIO, *, stoppable: bool) -> None:
        self._progress = progress
        self._stream = stream
        self._stoppable = stoppable
        self._start = time.monotonic()
        self._done = threading.Event()
        self._drawn = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.wipe()

    def counter(self, words: str) -> Progress:
        """Something to call with two numbers, which are put into the words."""

        def count(done: int, total: int) -> None:
            self._progress.best = words.format(f"{done:,}", f"{total:,}")

        return count

    def wipe(self) -> None:
        """Leave an empty line."""
        if self._drawn:
            self._stream.write(_WIPE)
            self._stream.flush()
            self._drawn = False

    def _run(self) -> None:
        while not self._done.wait(
            _REDRAW_SECONDS if self._drawn else min(_PATIENCE_SECONDS, _REDRAW_SECONDS)
        ):
            if time.monotonic() - self._start > _PATIENCE_SECONDS:
                self._draw()

    def _draw(self) -> None:
        self._stream.write(_WIPE + self.text(width_of(self._stream) - 1))
        self._stream.flush()
        self._drawn = True

    def text(self, width: int) -> str:
        """What is looked for, the best so far, how long it takes and may take, and how to end it."""
        now, progress = time.monotonic(), self._progress
        spent = f"{now - self._start:.0f} s"
        if progress.ends is not None:
            spent += f", {max(progress.ends - now, 0):.0f} s left"
        tail = _GAP.join([spent, *(["Ctrl-C takes it"] if self._stoppable else [])])
        looking = f"looking for {progress.looking_for}" if self._stoppable else progress.looking_for
        parts = [tail]
        for part in (harmless(progress.best), harmless(looking)):
            room = width - len(_GAP.join(["", *parts]))
            if part and room >= _LEAST:
                parts.insert(-1, elided(part, room))
        return _GAP.join(parts)[: max(width, 1)]
