"""kubectl does not outlive the planner that waits for it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import INTERRUPTIBLE
from tests.seeds import at_first

SECONDS = 60
_ENDS = ("SIGINT", "SIGHUP", "SIGTERM")
_LIST = "get nodes,pods"
_SILENT = """#!/bin/sh
# kubectl that answers until one of its answers never comes.
case "$*" in
*"{words}"*) echo $$ >"{told}.new"; mv "{told}.new" "{told}"; exec sleep 600 ;;
*/version*) echo '{{"gitVersion": "v1.36.2"}}' ;;
*) echo '{{}}' ;;
esac
"""


@contextmanager
def _waiting(folder: Path, words: str, *command: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A planner that waits for a kubectl, and the number of that process."""
    kubectl, told = folder / "kubectl", folder / "told"
    kubectl.write_text(_SILENT.format(words=words, told=told))
    kubectl.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *command],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        until = time.monotonic() + SECONDS
        while not told.exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        yield process, int(told.read_text())


def _assert_gone(number: int) -> None:
    """Whatever a failing test leaves is ended here."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    os.kill(number, signal.SIGKILL)
    pytest.fail("kubectl is still there")


@pytest.mark.parametrize(
    ("name", "words"), at_first(2, [*((name, _LIST) for name in _ENDS), ("SIGTERM", "/version")])
)
def test_a_planner_that_is_told_to_end(tmp_path: Path, name: str, words: str) -> None:
    """What went wrong: kubectl went on reading the cluster after a SIGTERM or SIGHUP of the planner alone."""
    number = signal.Signals[name]
    with _waiting(tmp_path, words, "check") as (process, kubectl):
        process.send_signal(number)
        process.communicate(timeout=SECONDS)
    _assert_gone(kubectl)
    assert process.returncode == (130 if name == "SIGINT" else -number)


@pytest.mark.long
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_fleet_that_ends(tmp_path: Path, name: str) -> None:
    """What went wrong: its workers, and so their kubectls, ignore Ctrl-C, and were killed themselves."""
    with _waiting(tmp_path, _LIST, "fleet", "check", "--contexts", "a") as (process, kubectl):
        (os.killpg if name == "SIGINT" else os.kill)(process.pid, signal.Signals[name])
        process.communicate(timeout=SECONDS)
    _assert_gone(kubectl)
    assert process.returncode == (3 if name == "SIGINT" else -signal.SIGKILL)
