"""What the words of a sweep or a fleet mean, and what its answers are kept by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands.asking import CommandLine
from cli.output.outcome import ending
from planner.fleet.tasks import Task
from planner.fleet.worker import work
from tests import seeds
from tests.cli.conftest import Planner

pytestmark = pytest.mark.usefixtures("_workers_are_threads")


@pytest.mark.parametrize(
    ("typed", "asked"),
    seeds.at_first(
        4,
        [
            (("-nvault",), "-nvault"),
            (("-lapp=vorh",), "-lapp=vorh"),
            (("-Av",), "-A --verbose"),
            (("-Anvault",), "-A -nvault"),
            (("-nshop",), "-nshop"),
            (("-n=vault",), "-n=vault"),
            (("-n", "vault"), "-n vault"),
            (("-lRov", "-A"), "-lRov -A"),
            (("-An", "vault"), "-A -n vault"),
            (("-vnvault",), "-nvault --verbose"),
            (("-vAnjson", "-ojson"), "-A -njson --verbose"),
        ],
    ),
)
def test_short_flags_are_read_as_by_the_command_alone(
    planner: Planner, zones: str, typed: tuple[str, ...], asked: str
) -> None:
    """A value that follows at once is no row of flags, whatever its letters are."""
    ended = planner("sweep", "check", "-f", zones, *typed, "--jobs", "1", "--output=json")
    assert json.loads(ended.out)["command"] == f"planner check {asked}"


def test_a_value_that_looks_like_a_flag_is_a_value(
    planner: Planner, zones: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may be called like one."""
    monkeypatch.chdir(tmp_path)
    Path(zones).rename("-nzones")
    ended = planner("sweep", "check", "-f", "-nzones", "--jobs", "1", "-o", "json")
    assert [row["error"] for row in json.loads(ended.out)["rows"]] == [""]


@pytest.mark.parametrize("word", ["-w", "-Aw"])
def test_short_flags_without_meaning_are_refused(planner: Planner, zones: str, word: str) -> None:
    """Alone and in a row."""
    ended = planner("sweep", "check", "-f", zones, word)
    assert (ended.code, ended.err) == (2, "error: -w is of no use for a question that is asked many times\n")


def _out_of_memory() -> int:
    raise MemoryError


def test_memory_that_is_not_enough_is_no_mistake_of_the_planner(capsys: pytest.CaptureFixture[str]) -> None:
    """What went wrong: a row and a command alone asked for a report of an internal error."""
    ask = CommandLine(lambda _: ending(_out_of_memory, verbose=False), ("check",))
    (reply,) = work([Task("c", "", ask)])
    assert (reply.exit_code, reply.error) == (3, "the memory of the worker is not enough")
    assert ending(_out_of_memory, verbose=False) == 3
    assert capsys.readouterr().err == "no answer: the memory is not enough\n"


@pytest.mark.parametrize("seconds", ["inf", "1e10"])
def test_a_time_that_never_comes_is_no_limit(planner: Planner, zones: str, seconds: str) -> None:
    """What went wrong: no answer, for no timer of the system can be set to it."""
    ended = planner("sweep", "check", "-f", zones, "--vary", "drain=each", "--timeout", seconds)
    assert (ended.code, ended.verdict) == (0, "3 scenarios: 3 well.")
