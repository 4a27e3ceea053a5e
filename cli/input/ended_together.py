"""A program that the planner waits for, and that does not outlive it."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TypeVar

_T = TypeVar("_T")
_Program = subprocess.Popen[bytes]


class _Ending(BaseException):
    """A signal has come that ends this process, as soon as the program has been ended."""


def ended_together(start: Callable[[], _Program], work: Callable[[_Program], _T]) -> _T:
    """Start a program, and do some work with it; a signal that ends this process ends the program before."""
    signals = _EndSignals()
    try:
        signals.heed()
        with start() as program:
            return _unless_ended(program, work, signals)
    finally:
        signals.obey()


def run_to_its_end(
    command: Sequence[str], seconds: float | None = None, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """A program that is given some input and has so much time, and what it answers."""

    def start() -> _Program:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def communicate(program: _Program) -> subprocess.CompletedProcess[bytes]:
        answer, told = program.communicate(given, seconds)
        return subprocess.CompletedProcess(command, program.returncode, answer, told)

    return ended_together(start, communicate)


def _unless_ended(program: _Program, work: Callable[[_Program], _T], signals: _EndSignals) -> _T:
    """The work; whatever ends it early ends the program."""
    try:
        try:
            signals.may_raise = True
            signals.raise_if_come()
            return work(program)
        finally:
            signals.may_raise = False
    except BaseException:
        program.kill()
        raise


class _EndSignals:
    """Signals that would end this process: they raise where they may, once, and end it later."""

    def __init__(self) -> None:
        # Other threads get no signals.
        in_main = threading.current_thread() is threading.main_thread()
        ends = (signal.SIGTERM, signal.SIGHUP) if in_main else ()
        self._heeded = [number for number in ends if signal.getsignal(number) == signal.SIG_DFL]
        self._come: list[int] = []
        self.may_raise = False

    def heed(self) -> None:
        """From now on they wait."""
        for number in self._heeded:
            signal.signal(number, self._comes)

    def _comes(self, number: int, frame: FrameType | None) -> None:
        self._come.append(number)
        self.raise_if_come()

    def raise_if_come(self) -> None:
        """Leave the work, where one has come."""
        if self._come and self.may_raise:
            # Raised once more, the second would leave what the first has begun.
            self.may_raise = False
            raise _Ending

    def obey(self) -> None:
        """They do what they usually do, and so do those that have come."""
        for number in self._heeded:
            signal.signal(number, signal.SIG_DFL)
        for come in self._come:
            signal.raise_signal(come)
