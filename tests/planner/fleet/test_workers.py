"""Processes that answer: how they begin and how they end."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: Ctrl-C while this is imported, by the process that others are forked from, and in each as it begins.
_INTERRUPTED = """
import os, signal
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
interrupt()
os.register_at_fork(after_in_child=interrupt)
"""
_ASKED = """
import signal
from contextlib import closing
from planner.fleet.tasks import Task
from planner.fleet.workers import ProcessWorkers
from tests.planner.fleet.asks import Says
signal.signal(signal.SIGINT, signal.default_int_handler)
with closing(ProcessWorkers(1, imports=["interrupted"])) as processes:
    print(processes.submit([Task("c", "", Says("well"))]).result()[0].document)
"""
#: Ctrl-C as soon as a worker has begun, for the second time: it is not waited for.
_LEFT = """
import os, signal
from contextlib import closing
from planner.fleet import workers
from planner.fleet.tasks import Task
from tests.planner.fleet.asks import Sleeps
signal.signal(signal.SIGINT, signal.default_int_handler)
def submitted(*given, as_before=workers._submitted):
    answering = as_before(*given)
    os.kill(os.getpid(), signal.SIGINT)
    return answering
workers._submitted = submitted
try:
    with closing(workers.ProcessWorkers(1)) as processes:
        processes.submit([Task("c", "", Sleeps(600))])
except KeyboardInterrupt:
    print("interrupted")
"""


def _ended(program: str, *folders: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": ":".join(map(str, (*folders, ROOT)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_ctrl_c_while_workers_begin(tmp_path: Path) -> None:
    """What went wrong: they printed tracebacks, and a fleet in its first second ended without its rows."""
    (tmp_path / "interrupted.py").write_text(_INTERRUPTED)
    ended = _ended(_ASKED, tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "well\n", "")


def test_a_worker_that_has_just_begun_is_ended() -> None:
    """What went wrong: nothing knew it yet, and the program waited for its answer before it ended."""
    ended = _ended(_LEFT)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")
