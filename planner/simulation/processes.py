"""Processes for tasks that can be done at the same time, where the machine has cores for them.

Each is forked for one task, so that all that was read is there without being copied; it only computes,
answers through a pipe and ends, at once where nothing reads the pipe any more.  What it answers is what
this process would have found itself.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Set
from multiprocessing.connection import Connection, Pipe, wait
from types import TracebackType
from typing import Generic, NoReturn, Self, TypeVar

T = TypeVar("T")

#: So many tasks at a time: each has what it makes in memory of its own.
AT_A_TIME = 2


def has_second_core() -> bool:
    """Whether two processes are faster than one, and this system can fork one without harm."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1


class TaskResult(Generic[T]):
    """What a task comes to, once its process has said so."""

    def __init__(self, work: Callable[[], T], processes: Processes) -> None:
        self._work = work
        self._processes = processes
        self._told: list[T] = []

    def get(self) -> T:
        """The answer; worked out here where the process ended without one."""
        self._processes.wait_for(self)
        if not self._told:
            self._told.append(self._work())
        return self._told[0]

    def read(self, pipe: Connection) -> None:
        """Take what the process says; at the end of the pipe that is nothing."""
        try:
            self._told.append(pipe.recv())
        except (EOFError, OSError):
            return


class Processes:
    """Tasks in processes of their own, which do not outlive the block."""

    def __init__(self) -> None:
        self._running: dict[Connection, tuple[int, TaskResult[object]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in [*self._running]:
            self._end(pipe)

    def start(self, work: Callable[[], T]) -> TaskResult[T]:
        """Begin a task as soon as another one may be under way."""
        while len(self._running) >= AT_A_TIME:
            self._read()
        answer = TaskResult(work, self)
        here, there = Pipe()
        self._running[here] = _fork(work, here, there), answer  # type: ignore[assignment]
        there.close()
        return answer

    def wait_for(self, answer: TaskResult[T]) -> None:
        """Read answers until a task is no longer under way."""
        while any(one is answer for _, one in self._running.values()):
            self._read()

    def _read(self) -> None:
        """Wait for one process or more to say something, and end them."""
        for pipe in wait([*self._running]):
            assert isinstance(pipe, Connection)
            self._running[pipe][1].read(pipe)
            self._end(pipe)

    def _end(self, pipe: Connection) -> None:
        pid, _ = self._running.pop(pipe)
        pipe.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _fork(work: Callable[[], object], here: Connection, there: Connection) -> int:
    # Handlers of the first process are no business of the child: signals wait until it ignores them.
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        with warnings.catch_warnings():
            # Python warns of threads, which might hold a lock for ever: the child takes none of theirs.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            _be_child(work, here, there, usual)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


def _be_child(
    work: Callable[[], object], here: Connection, there: Connection, usual: Set[int | signal.Signals]
) -> NoReturn:
    code = 1
    try:
        # The first process answers Ctrl-C and SIGTERM, and ends this one.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        gc.freeze()
        here.close()
        threading.Thread(target=_end_with_reader, args=[there], daemon=True).start()
        there.send(work())
        code = 0
    finally:
        # Neither what other code has left to do at the end nor a traceback is the business of the child.
        os._exit(code)


def _end_with_reader(there: Connection) -> None:
    """End once the other end is closed: the first process has ended, or has lost sight of this one."""
    wait([there])
    os._exit(1)
