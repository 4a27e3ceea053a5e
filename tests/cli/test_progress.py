"""The line on a terminal: only for a terminal, and only when it takes a while."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.output import progress
from models import Cluster
from planner import compare, drain, explain, rebalance, rollout, scale_down, solve, survive
from planner.proof.clock import SEARCH_PROGRESS, SearchProgress
from planner.simulation.rollout import trajectory
from tests.builders import ZONE
from tests.cli.conftest import INTERRUPTIBLE
from tests.cli.manifests import node, pod, write
from tests.planner.test_diff import made

EXAMPLES = Path(__file__).parents[2] / "examples"
ROLLOUT = EXAMPLES / "50-rollout-half-way"


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        """A terminal."""
        return True


def _watched(monkeypatch: pytest.MonkeyPatch, patience: float) -> _Terminal:
    """Standard error on a terminal."""
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", patience)
    monkeypatch.setattr(progress, "_REDRAW_SECONDS", 0.01)
    return stream


def _wait_for(stream: io.StringIO, text: str) -> str:
    """What the stream has when the text has come."""
    end = time.monotonic() + 60
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
        assert SEARCH_PROGRESS.get() is None
    assert stream.getvalue() == ""


def test_what_is_quick_needs_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the first second, here a minute, nothing is drawn."""
    terminal = _watched(monkeypatch, 60.0)
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
    assert SEARCH_PROGRESS.get() is None


def test_a_search_says_what_it_has_and_how_to_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best so far with its bound, the time left, Ctrl-C; never wider than the terminal."""
    terminal = _watched(monkeypatch, -1.0)
    monkeypatch.setenv("COLUMNS", "90")
    with progress.search("the most pods", stoppable=True, best="{} pods placed, at most {}") as watch:
        assert watch is not None
        watch(480, 500)
        search = SEARCH_PROGRESS.get()
        assert search is not None
        search.ends = time.monotonic() + 18
        shown = _wait_for(terminal, "s left")
        search.looking_for = "x" * 300
        _wait_for(terminal, "xx")
    lines = re.split(r"\r\x1b\[K", terminal.getvalue())
    assert max(map(len, lines)) < 90
    assert "480 pods placed, at most 500" in shown
    assert all(line.endswith("s left | Ctrl-C takes it") for line in lines if "xx" in line)


def _seen(run: Callable[[], object]) -> list[str]:
    """All that a search shows of what it has, in the order in which it does."""
    told: list[str] = []

    class _Recorded(SearchProgress):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, value)
            if name == "best" and value:
                told.append(str(value))

    token = SEARCH_PROGRESS.set(_Recorded())
    try:
        run()
    finally:
        SEARCH_PROGRESS.reset(token)
    return told


LEVEL = {f"w{number}": f"n{number}" for number in range(6)}
LOPSIDED = {"w0": "n0", "w1": "n0", "w2": "n1", "w3": "n1"}
TOLD: dict[str, tuple[Callable[[], object], str]] = {
    "solve": (lambda: solve(made({"w": ""})), r"1 pods placed, at most 1(; .+ at (least|most) \d+)?"),
    "solve --allow-moves": (
        lambda: solve(made({"w": ""}), allow_moves=True),
        r"\d+ pods in place, at most \d+; \d+ moves(, at least \d+)?",
    ),
    "compare": (lambda: compare(made({"w": ""}), replays=1), r"1 pods placed, at most 1.*"),
    "rebalance": (
        lambda: rebalance(made(LOPSIDED), time_limit=7),
        r"\d+ moves leave \d+ pods too many; at least \d+ moves and \d+ pods",
    ),
    "scale-down": (
        lambda: scale_down(Cluster.load(EXAMPLES / "21-scale-down"), {"deployment/search": 4}),
        r"hardExcess \d+, softExcess \d+, skew \d+, at least \d+",
    ),
    "drain": (lambda: drain(made(LEVEL), ["n0", "n1"]), r"\d+ waves done, \d+ nodes to be tried again"),
    "explain": (
        lambda: explain(Cluster.load(EXAMPLES / "31-not-enough-cpu")),
        r"\d+ changes tried out, \d+ help",
    ),
    "survive": (lambda: survive(made(LEVEL), ZONE), r"\d+ of \d+ done, now .+"),
    "rollout": (
        lambda: rollout(Cluster.load(ROLLOUT), Cluster.load(ROLLOUT / "next", partial=True), replays=3),
        r"\d+ of 4 runs, \d+ of them complete",
    ),
    "rollout --scale": (
        lambda: trajectory(Cluster.load(ROLLOUT), {"deployment/cart": [1, 2]}, replays=3),
        r"\d+ of 4 runs",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_searches_tell_what_they_have(name: str) -> None:
    """The best so far, and what no answer betters where something is known of it."""
    run, form = TOLD[name]
    told = _seen(run)
    assert any(re.fullmatch(form, text) for text in told), told


def test_a_limit_is_told() -> None:
    """When it ends, beside what is looked for."""
    for run, limit in ((lambda: solve(made({"w": ""}), time_limit=9), 9), (_rebalanced, 7)):
        shown = SearchProgress()
        token = SEARCH_PROGRESS.set(shown)
        run()
        SEARCH_PROGRESS.reset(token)
        assert shown.looking_for
        assert shown.ends is not None
        assert 0 < shown.ends - time.monotonic() <= limit


def _rebalanced() -> None:
    assert rebalance(made(LOPSIDED), time_limit=7).steps


def test_who_stops_gets_what_there_is() -> None:
    """Stopped beforehand: no replays, draws, orders or trials but the first, and a note that says so."""
    stop_requested = threading.Event()
    stop_requested.set()
    compared = compare(made({"w": ""}), replays=5, stop_event=stop_requested)
    assert compared.kube_scheduler.replays.runs == 1
    assert "stopped after 1 of 5 replays" in compared.notes
    rolled = rollout(
        Cluster.load(ROLLOUT), Cluster.load(ROLLOUT / "next", partial=True), stop_event=stop_requested
    )
    assert rolled.replays.runs == 1
    assert "stopped after 1 of 21 runs" in rolled.notes
    found = trajectory(Cluster.load(ROLLOUT), {"deployment/cart": [1]}, stop_event=stop_requested)
    assert (found.runs, found.notes[-1]) == (1, "stopped after 1 of 21 runs")
    (item,) = explain(Cluster.load(EXAMPLES / "31-not-enough-cpu"), stop_event=stop_requested).items
    assert (item.fixes, item.tried, item.exhausted) == ((), 0, False)
    blocked = Cluster.load(EXAMPLES / "51-drain-a-pool")
    assert [row.fixes for row in drain(blocked, ["old-b"]).blocked] != [()]
    stopped = drain(blocked, ["old-b"], stop_event=stop_requested)
    assert [row.fixes for row in stopped.blocked] == [()]
    assert "stopped: not all was tried out that could free a node" in stopped.notes


def test_a_long_read_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The objects so far, and how much of the file they are."""
    terminal = _watched(monkeypatch, -1.0)
    path = write(tmp_path / "c.json", *(pod(f"p{number}") for number in range(1_200)))
    told: list[str] = []
    monkeypatch.setattr(progress, "report_best", told.append)
    with progress.reading("reading c.json"):
        Cluster.load(path)
        _wait_for(terminal, "reading c.json")
    assert [text.partition(",")[0] for text in told] == ["500 objects", "1"]
    assert re.fullmatch(r"500 objects, 4\d %", told[0])


@pytest.mark.long
def test_a_real_terminal(tmp_path: Path) -> None:
    """A search of seconds on a pseudo-terminal: the line, then Ctrl-C, and on stdout the plan alone."""
    sizes = [917, 883, 811, 797, 773, 751, 743, 733, 719, 701, 691, 683, 677, 661, 653, 647] * 6
    pods = [pod(f"p{number}", cpu=f"{size}m") for number, size in enumerate(sizes)]
    path = write(tmp_path / "c.json", *(node(f"n{n}", cpu="2") for n in range(34)), *pods)
    master, slave = pty.openpty()
    words = [sys.executable, "-c", INTERRUPTIBLE, "solve", "--time-limit", "60"]
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
