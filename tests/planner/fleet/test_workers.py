"""Processes that answer: how they begin and how they end."""

import multiprocessing
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planner.fleet import workers
from planner.fleet.tasks import Task
from tests.planner.fleet.asks import Sleeps

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


def test_ctrl_c_while_workers_begin(tmp_path: Path) -> None:
    """What went wrong: they printed tracebacks, and a fleet in its first second ended without its rows."""
    (tmp_path / "interrupted.py").write_text(_INTERRUPTED)
    ended = subprocess.run(
        [sys.executable, "-c", _ASKED],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "well\n", "")


def test_a_worker_that_begins_as_ctrl_c_comes_is_ended_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was not known yet where the second Ctrl-C came then, and the command ended only with its work."""
    submitted, others = workers._submitted, {*multiprocessing.active_children()}

    def interrupted(*asked: Any) -> workers.Answering:
        submitted(*asked)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "_submitted", interrupted)
    with closing(workers.ProcessWorkers(1)) as processes, pytest.raises(KeyboardInterrupt):
        processes.submit([Task("c", "", Sleeps(20.0))])
    assert {*multiprocessing.active_children()} <= others
