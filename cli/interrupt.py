"""Ctrl-C as a wish for the best answer so far."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cli.outcome import say
from cli.progress import wipe


@contextmanager
def bell() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second one ends the command as usual."""
    rung = threading.Event()
    usual = signal.getsignal(signal.SIGINT)

    def ring(number: int, frame: FrameType | None) -> None:
        if rung.is_set() and callable(usual):
            usual(number, frame)
        rung.set()
        wipe()
        say("stopping with the best so far; Ctrl-C again gives up")

    # A job in the background of a shell ignores interrupts, and goes on doing so.
    if usual is signal.SIG_IGN:
        yield rung
        return
    signal.signal(signal.SIGINT, ring)
    try:
        yield rung
    finally:
        signal.signal(signal.SIGINT, usual)
