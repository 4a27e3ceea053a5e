"""Ctrl-C, or the SIGTERM that ends a container, as a request for the best answer so far."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cli.output.outcome import say
from cli.output.progress import wipe
from planner.proof.clock import leave

_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


@contextmanager
def stop_event() -> Iterator[threading.Event]:
    """An event that the first of these signals sets; the second one ends the command as usual."""
    stop_requested = threading.Event()
    usual = {number: signal.getsignal(number) for number in _NAMES}

    def request_stop(number: int, frame: FrameType | None) -> None:
        if stop_requested.is_set():
            _as_usual(number, frame)
        stop_requested.set()
        wipe()
        say(f"stopping with the best so far; {_NAMES[signal.Signals(number)]} again gives up")
        leave()

    def _as_usual(number: int, frame: FrameType | None) -> None:
        handler = usual[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    if threading.current_thread() is not threading.main_thread():
        # Other threads get no signals.
        yield stop_requested
        return
    # A job in the background of a shell ignores interrupts, and goes on doing so.
    heeded = [number for number, handler in usual.items() if handler not in {signal.SIG_IGN, None}]
    for number in heeded:
        signal.signal(number, request_stop)
    try:
        yield stop_requested
    finally:
        for number in heeded:
            signal.signal(number, usual[number])
