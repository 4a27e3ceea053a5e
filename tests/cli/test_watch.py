"""`planner check --watch`: an answer whenever there is another one, until Ctrl-C."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.commands import watch
from tests.cli.conftest import Planner
from tests.cli.manifests import node, pod, write


def steps(monkeypatch: pytest.MonkeyPatch, *changes: Callable[[], object]) -> None:
    """What happens while nobody looks: a change a pause, and Ctrl-C after the last."""
    left: Iterator[Callable[[], object]] = iter(changes)

    def pause(seconds: float) -> None:
        assert seconds == watch.SECONDS
        change = next(left, None)
        if change is None:
            raise KeyboardInterrupt
        change()

    monkeypatch.setattr("cli.commands.watch.time.sleep", pause)


def test_an_answer_is_given_when_it_is_another_one(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Level, the same once more, lopsided, a file that is broken, level: three answers, the last one good."""
    file, metrics = tmp_path / "c.json", tmp_path / "metrics"
    nodes = (node("a1", "a"), node("b1", "b"))

    def level() -> None:
        write(file, *nodes, pod("w1", on="a1", spread="DoNotSchedule"), pod("w2", on="b1"))

    def lopsided() -> None:
        write(file, *nodes, *(pod(name, on="a1", spread="DoNotSchedule") for name in ("w1", "w2")))

    def unmeasured() -> None:
        metrics.unlink()

    level()
    steps(monkeypatch, unmeasured, lopsided, lambda: file.write_text("{"), level)
    ended = planner("check", "--watch", "-f", str(file), "--metrics", str(metrics), "-o", "json")
    decoder, text, found = json.JSONDecoder(), ended.out.strip(), []
    while text:
        document, end = decoder.raw_decode(text)
        found.append(document["violations"])
        text = text[end:].strip()
    assert found == [0, 1, 0]
    assert ended.code == 0
    assert "broken JSON" in ended.err
    assert metrics.exists(), "figures are written whether or not they have changed"


def test_the_exit_code_is_that_of_the_last_answer(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finding, and Ctrl-C; what cannot be read at the beginning is an error at once."""
    pods = [pod(name, on="a1", spread="DoNotSchedule") for name in ("w1", "w2")]
    file = write(tmp_path / "c.json", node("a1", "a"), node("b1", "b"), *pods)
    steps(monkeypatch)
    ended = planner("check", "-w", "-f", file)
    assert ended.code == 1
    assert ended.out.count("1 too many") == 1
    assert planner("check", "--watch", "-f", str(tmp_path / "none.json")).code == 2
