"""The line on a terminal: only for somebody who watches, and only when it takes a while."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli import progress
from planner import rebalance, solve
from planner.clock import SIGHT, Sight
from tests.cli.manifests import node, pod, write
from tests.planner.test_diff import made


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        """Somebody watches."""
        return True


def _watched(monkeypatch: pytest.MonkeyPatch, patience: float = 1.0) -> _Terminal:
    """Standard error with somebody watching."""
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", patience)
    monkeypatch.setattr(progress, "_REDRAW_SECONDS", 0.01)
    return stream


def _wait_for(stream: io.StringIO, text: str) -> str:
    """What the stream has when the text has come."""
    end = time.monotonic() + 10
    while text not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()[-200:]
        time.sleep(0.01)
    return stream.getvalue()


def test_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe there is nothing to call, and nothing is printed."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.meter("pods") as meter:
        assert meter is None
    with progress.search("moves", stoppable=True), progress.doing("reading"):
        assert SIGHT.get() is None
    assert stream.getvalue() == ""


def test_what_is_quick_needs_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the first second nothing is drawn."""
    terminal = _watched(monkeypatch)
    with progress.meter("pods") as meter:
        assert meter is not None
        meter(1, 1)
    assert terminal.getvalue() == ""


def test_what_takes_long_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how many of how many are done, and is wiped at the end."""
    terminal = _watched(monkeypatch, -1.0)
    with progress.meter("pods") as meter:
        assert meter is not None
        meter(1_200, 3_000)
        _wait_for(terminal, "1,200 of 3,000 pods")
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert SIGHT.get() is None


def test_a_search_says_what_it_has_and_how_to_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best so far with its bound, the time left, Ctrl-C; never wider than the terminal."""
    terminal = _watched(monkeypatch, -1.0)
    monkeypatch.setenv("COLUMNS", "90")
    with progress.search("the most pods", stoppable=True, best="{} pods placed, at most {}") as watch:
        assert watch is not None
        watch(480, 500)
        sight = SIGHT.get()
        assert sight is not None
        sight.ends = time.monotonic() + 18
        shown = _wait_for(terminal, "s left")
        sight.looking_for = "x" * 300
        _wait_for(terminal, "xx")
    lines = re.split(r"\r\x1b\[K", terminal.getvalue())
    assert max(map(len, lines)) < 90
    assert "480 pods placed, at most 500" in shown
    assert all(line.endswith("s left | Ctrl-C takes it") for line in lines if "xx" in line)


def test_searches_tell_what_they_have() -> None:
    """The engines fill in what is looked for, and when the limit ends."""
    for run, limit in ((lambda: solve(made({"w": ""}), time_limit=9), 9), (_rebalanced, 7)):
        sight = Sight()
        token = SIGHT.set(sight)
        run()
        SIGHT.reset(token)
        assert sight.looking_for
        assert sight.ends is not None
        assert 0 < sight.ends - time.monotonic() <= limit
    assert re.fullmatch(r"\d+ moves leave \d+ pods too many; at least \d+ moves and \d+ pods", sight.best)


def _rebalanced() -> None:
    assert rebalance(made({"w0": "n0", "w1": "n0", "w2": "n1", "w3": "n1"}), time_limit=7).steps


def test_a_real_terminal(tmp_path: Path) -> None:
    """A search of seconds on a pseudo-terminal: the line, then Ctrl-C, and on stdout the plan alone."""
    sizes = [917, 883, 811, 797, 773, 751, 743, 733, 719, 701, 691, 683, 677, 661, 653, 647] * 6
    pods = [pod(f"p{number}", cpu=f"{size}m") for number, size in enumerate(sizes)]
    path = write(tmp_path / "c.json", *(node(f"n{n}", cpu="2") for n in range(34)), *pods)
    master, slave = pty.openpty()
    words = [sys.executable, "-c", "from cli.main import main; main()", "solve", "--time-limit", "60"]
    running = subprocess.Popen(
        [*words, "-f", path],
        stdout=subprocess.PIPE,
        stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        cwd=Path(__file__).parents[2],
    )
    os.close(slave)
    try:
        seen = b""
        while b"Ctrl-C takes it" not in seen:
            seen += os.read(master, 4096)
        assert b"pods placed, at most" in seen
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    finally:
        running.kill()
        os.close(master)
    assert b"\x1b" not in out
    assert re.match(rb"\d+ pods placed", out)
    assert running.returncode in {0, 1}
