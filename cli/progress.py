"""A progress bar for what takes more than a moment."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

Progress = Callable[[int, int], None]
_PATIENCE_SECONDS = 1.0


@contextmanager
def meter(unit: str) -> Iterator[Progress | None]:
    """Something to call with how many of how many are done; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        yield _Meter(unit, stack)


class _Meter:
    """Waits for a second before it draws anything."""

    def __init__(self, unit: str, stack: ExitStack) -> None:
        self._unit = unit
        self._stack = stack
        self._start = time.monotonic()
        self._update: Progress | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._update is not None:
            self._update(done, total)
        elif time.monotonic() - self._start > _PATIENCE_SECONDS:
            self._update = self._draw()

    def _draw(self) -> Progress:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn(self._unit), TimeRemainingColumn())
        bar = self._stack.enter_context(
            Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
        )
        task = bar.add_task(self._unit)
        return lambda done, total: bar.update(task, completed=done, total=total)
