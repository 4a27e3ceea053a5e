"""A second process for a half of the work, where the machine has a core for it.

It is forked, so that all that was read is there without being copied; it only computes, answers through a
pipe and ends.  What it answers is what this process would have found itself.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, Pipe


def has_second_core() -> bool:
    """Whether two processes are faster than one, and this system can fork one without harm."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1


@contextmanager
def forked(work: Callable[[Connection], None]) -> Iterator[Connection]:
    """The pipe to a process that does the work; it does not outlive the block."""
    here, there = Pipe()
    pid = _fork(work, here, there)
    there.close()
    try:
        yield here
    finally:
        here.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _fork(work: Callable[[Connection], None], here: Connection, there: Connection) -> int:
    with warnings.catch_warnings():
        # Python warns of threads, which might hold a lock for ever: the child takes none that others have.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        # Ctrl-C is answered by the first process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.freeze()
        here.close()
        work(there)
        code = 0
    finally:
        # Neither what other code has left to do at the end nor a traceback is the business of the child.
        os._exit(code)
