"""The workers that answer tasks: processes on this machine, or any executor that is given."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import Any, Protocol, cast

from planner.fleet.tasks import Reply, Task
from planner.fleet.worker import work

Answering = Future[list[Reply]]
#: At most so long is waited for the thread of a pool whose processes have ended.
_MANAGER_SECONDS = 5.0
#: A process that is told to end ends at once; one that waits for another ends that before.
_END_SECONDS = 2.0


class Workers(Protocol):
    """Where tasks are sent to."""

    @property
    def at_once(self) -> int:
        """How many pieces of work are under way at the same time."""

    def submit(self, tasks: Sequence[Task]) -> Answering:
        """Have them answered."""

    def renew(self) -> None:
        """Go on with other workers: one of these has ended or does not answer."""

    def close(self) -> None:
        """Nothing more is asked."""


@dataclass
class Given:
    """An executor that the caller made and shuts down; once broken, it stays so."""

    executor: Executor
    at_once: int
    #: What it raises where it takes nothing more.
    ended: tuple[type[Exception], ...] = (BrokenExecutor, RuntimeError, OSError)

    def submit(self, tasks: Sequence[Task]) -> Answering:
        """Have them answered, if it still takes anything."""
        return _submitted(self.executor, tasks, *self.ended)

    def renew(self) -> None:
        """There is no other executor."""

    def close(self) -> None:
        """It is not ours to end."""


@dataclass
class ProcessWorkers:
    """Processes of this machine, each with a limit of memory in bytes; 0: none.

    Each has a pool of its own: what ends one neither ends those beside it nor meets one that begins.
    """

    at_once: int
    memory: int = 0
    #: What all of them need is imported once, by the process that they are forked from.
    imports: Sequence[str] = ("planner",)
    #: What each was asked last.
    _pools: dict[ProcessPoolExecutor, Answering] = field(default_factory=dict, init=False)

    def submit(self, tasks: Sequence[Task]) -> Answering:
        """Have them answered by a process that has nothing to do."""
        for pool, last in self._pools.items():
            if last.done():
                self._pools[pool] = _submitted(pool, tasks, BrokenExecutor)
                return self._pools[pool]
        return self._submitted_to_new(tasks)

    def _submitted_to_new(self, tasks: Sequence[Task]) -> Answering:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(self.imports))
        with _no_ctrl_c():
            pool = ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(self.memory,))
            # Known before it begins: what an interrupt leaves is ended, too.
            self._pools[pool] = Future()
            # The process that others are forked from may have ended.
            answering = self._pools[pool] = _submitted(pool, tasks, BrokenExecutor, OSError, EOFError)
            if pool._processes:
                # Only its process may answer: where that ends in the middle of a reply, so does the reply.
                cast(Any, pool._result_queue)._writer.close()
            else:
                del self._pools[pool]
        return answering

    def renew(self) -> None:
        """End the processes; the next task gets new ones."""
        self.close()

    def close(self) -> None:
        """End the processes at once, whatever they do."""
        pools = [*self._pools]
        self._pools.clear()
        own = [process for pool in pools for process in (pool._processes or {}).values()]
        managers = [cast("threading.Thread | None", pool._executor_manager_thread) for pool in pools]
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        for process in own:
            process.terminate()
        until = time.monotonic() + _END_SECONDS
        for process in own:
            process.join(max(0.0, until - time.monotonic()))
            process.kill()
            process.join()
        for manager in managers:
            if manager is not None:
                # Only without it are the semaphores given back.
                manager.join(_MANAGER_SECONDS)


@contextmanager
def _no_ctrl_c() -> Iterator[None]:
    """What begins inside has it wait until it ignores it."""
    # It would let interrupts through once it has begun.
    resource_tracker.ensure_running()
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


def _submitted(executor: Executor, tasks: Sequence[Task], *ended: type[Exception]) -> Answering:
    """What will be answered; an executor that takes nothing more is told as a failed answer."""
    try:
        return executor.submit(work, tuple(tasks))
    except ended as error:
        failed: Answering = Future()
        failed.set_exception(error)
        return failed


def _begin(memory: int) -> None:
    """A process that Ctrl-C leaves to the one that asks, with its limit of memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.set_threshold(100_000, 50, 50)
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _end_with_parent() -> None:
    """End with the process that asked: no answer is of use after it."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_END_SECONDS)
        os._exit(1)
