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
from tests.running import runs
from tests.seeds import at_first

ROOT = Path(__file__).parents[2]
SECONDS = 60
_ENDS = ("SIGTERM", "SIGHUP", "SIGINT")
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
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if not runs(number):
            return
        time.sleep(0.02)
    os.kill(number, signal.SIGKILL)
    pytest.fail("kubectl is still there")


@pytest.mark.parametrize(
    ("name", "words"), at_first(1, [*((name, _LIST) for name in _ENDS), ("SIGTERM", "/version")])
)
def test_a_planner_that_is_told_to_end(tmp_path: Path, name: str, words: str) -> None:
    """What went wrong: kubectl went on reading the cluster after a SIGTERM or SIGHUP of the planner alone."""
    number = signal.Signals[name]
    with _waiting(tmp_path, words, "check") as (process, kubectl):
        process.send_signal(number)
        process.communicate(timeout=SECONDS)
    _assert_gone(kubectl)
    assert process.returncode == (130 if name == "SIGINT" else -number)


#: A program that is being started, or that ends, when the signals come.
_SIGNALS_COME = """
import os, signal, subprocess, sys
from cli.input.ended_together import ended_together
moment, *names = sys.argv[1:]
class Program(subprocess.Popen):
    def come(self, now):
        for name in names if now == moment else ():
            os.kill(os.getpid(), signal.Signals[name])
    def _execute_child(self, *given):
        super()._execute_child(*given)
        print(self.pid, flush=True)
        self.come("it starts")
    def __exit__(self, *given):
        self.come("it ends")
        super().__exit__(*given)
def work(program):
    program.kill() if moment == "it ends" else program.wait()
ended_together(lambda: Program(["sleep", "600"]), work)
"""


@pytest.mark.parametrize("moment", ["it starts", "it ends"])
@pytest.mark.parametrize("names", [("SIGTERM",), ("SIGTERM", "SIGHUP")])
def test_signals_that_come_while_kubectl_starts_or_ends(moment: str, names: tuple[str, ...]) -> None:
    """What went wrong: a signal of the first milliseconds left kubectl, and of two the second a traceback."""
    command = [sys.executable, "-c", _SIGNALS_COME, moment, *names]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS)
    _assert_gone(int(ended.stdout))
    assert (ended.returncode, ended.stderr) == (-signal.SIGTERM, "")


def test_a_kubectl_that_builds_a_folder(tmp_path: Path) -> None:
    """What went wrong: `kubectl kustomize`, which may fetch what the folder names, outlived the planner."""
    folder = tmp_path / "overlay"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text("{}")
    with _waiting(tmp_path, "kustomize", "check", "-f", str(folder)) as (process, kubectl):
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
    _assert_gone(kubectl)
    assert process.returncode == -signal.SIGTERM


@pytest.mark.long
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_fleet_that_ends(tmp_path: Path, name: str) -> None:
    """What went wrong: its workers, and so their kubectls, ignore Ctrl-C, and were killed themselves."""
    with _waiting(tmp_path, _LIST, "fleet", "check", "--contexts", "a") as (process, kubectl):
        (os.killpg if name == "SIGINT" else os.kill)(process.pid, signal.Signals[name])
        process.communicate(timeout=SECONDS)
    _assert_gone(kubectl)
    assert process.returncode == (3 if name == "SIGINT" else -signal.SIGKILL)
