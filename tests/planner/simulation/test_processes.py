"""Processes for halves of one question: neither do they outlive it, nor do they go on as the planner."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.running import runs

ROOT = Path(__file__).parents[3]
_BEGIN = """
import os, signal, sys, time
from planner.simulation.processes import Processes
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
#: Ctrl-C as soon as a process has been forked, which ignores it a moment later.
_INTERRUPTED = """
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
with Processes() as processes:
    print(processes.start(lambda: "well").get())
"""
#: The first process is killed, and does not end the one that it has forked.
_KILLED = """
def work():
    print(os.getpid(), flush=True)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
with Processes() as processes:
    processes.start(work).get()
"""


def _ended(program: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", _BEGIN + program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_a_process_that_begins_is_not_interrupted() -> None:
    """What went wrong: handlers of the planner ran in it, which said so, or went on as a second planner."""
    ended = _ended(_INTERRUPTED)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "well\n", "")


def test_a_process_ends_with_the_first_one() -> None:
    """What went wrong: after a SIGKILL, or a SIGTERM, it went on to the end of its task."""
    ended = _ended(_KILLED)
    assert ended.returncode == -signal.SIGKILL
    number, until = int(ended.stdout), time.monotonic() + 60
    while runs(number):
        if time.monotonic() > until:
            os.kill(number, signal.SIGKILL)
            pytest.fail("it is still there")
        time.sleep(0.02)
