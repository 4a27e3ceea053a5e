"""What a worker does: one task after the other, each within its limit of time."""

from __future__ import annotations

import ctypes
import resource
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from models.errors import InputError
from planner.fleet.tasks import Reply, Task

#: A worker holds one cluster: threads of one process take turns.
_TURN = threading.Lock()
_BAD_INPUT = 2


class OutOfTime(BaseException):
    """The limit of a task has passed; no handler of errors stands in its way."""


def work(tasks: Sequence[Task]) -> list[Reply]:
    with _TURN:
        replies = ((_reply(task), resource.getrusage(resource.RUSAGE_SELF)) for task in tasks)
        return [replace(reply, peak=used.ru_maxrss * 1024) for reply, used in replies]


def _reply(task: Task) -> Reply:
    try:
        with _limit(task.seconds):
            return task.ask()
    except OutOfTime:
        return Reply.none(late(task))
    except InputError as error:
        return Reply(_BAD_INPUT, None, "; ".join(error.problems))
    except MemoryError:
        return Reply.none("the memory of the worker is not enough")


def late(task: Task) -> str:
    """What is said of a task without an answer in time."""
    return f"no answer within {task.seconds:g} s (--timeout)"


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raises OutOfTime inside when the time has passed."""
    if threading.current_thread() is threading.main_thread():
        with _alarm(seconds):
            yield
        return
    with _timer(seconds):
        yield


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """By a signal, which interrupts even a call of the system."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    usual = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)


@contextmanager
def _timer(seconds: float) -> Iterator[None]:
    """By another thread, where this one gets no signals."""
    thread, lock, over = threading.get_ident(), threading.Lock(), False

    def ring() -> None:
        with lock:
            if not over:
                _raise_in(thread, OutOfTime)

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            over = True
        # What was to be raised and is not yet would end the thread after its task.
        _raise_in(thread, None)
        timer.cancel()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Have a thread raise an error; None: not the one that it has not come to yet."""
    found = ctypes.py_object() if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), found)
