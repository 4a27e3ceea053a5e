"""The progress bar: only for somebody who watches, and only when it takes a while."""

import io
import sys

import pytest

from cli import progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        """Somebody watches."""
        return True


def _watched(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Standard error with somebody watching."""
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe there is nothing to call."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.meter("pods") as meter:
        assert meter is None


def test_what_is_quick_needs_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the first second nothing is drawn."""
    terminal = _watched(monkeypatch)
    with progress.meter("pods") as meter:
        assert meter is not None
        meter(1, 1)
    assert terminal.getvalue() == ""


def test_what_takes_long_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how many of how many are done, and is wiped at the end."""
    terminal = _watched(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", -1.0)
    with progress.meter("pods") as meter:
        assert meter is not None
        meter(1, 20)
        meter(20, 20)
    assert "20/20" in terminal.getvalue()
    assert "pods" in terminal.getvalue()
