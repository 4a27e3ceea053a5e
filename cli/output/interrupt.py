"""Ctrl-C as a request for the best answer so far."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cli.output.outcome import say
from cli.output.progress import wipe
from planner.proof.clock import leave


@contextmanager
def stop_event() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second one ends the command as usual."""
    stop_requested = threading.Event()
    usual = signal.getsignal(signal.SIGINT)

    def request_stop(number: int, frame: FrameType | None) -> None:
        if stop_requested.is_set() and callable(usual):
            usual(number, frame)
        stop_requested.set()
        wipe()
        say("stopping with the best so far; Ctrl-C again gives up")
        leave()

    # A job in the background of a shell ignores interrupts, and goes on doing so; other threads get none.
    if usual is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield stop_requested
        return
    signal.signal(signal.SIGINT, request_stop)
    try:
        yield stop_requested
    finally:
        signal.signal(signal.SIGINT, usual)
