"""Commands, options and exit codes."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from cli.output.outcome import ending
from planner.documents.plan import CheckReport, Simulation
from tests.cli.conftest import Planner
from tests.cli.manifests import node, pod, write


@pytest.fixture
def balanced(tmp_path: Path) -> str:
    """A cluster in which everything is as it should be."""
    return write(tmp_path / "balanced.json", node("a1", "a"), pod("web-0", on="a1"))


def test_without_a_command_the_help_is_shown(planner: Planner) -> None:
    """`planner` alone is a question, not a mistake."""
    ended = planner()
    assert ended.code == 0
    assert "Commands:" in ended.out
    assert ended == planner("--help")


@pytest.mark.parametrize("command", ["check", "scale-down", "simulate", "snapshot", "solve"])
def test_every_command_explains_itself(planner: Planner, command: str) -> None:
    """The help of a command names its options."""
    ended = planner(command, "--help")
    assert ended.code == 0
    assert "--output" in ended.out


def test_version(planner: Planner) -> None:
    """`--version` prints what is installed."""
    assert planner("--version").out == f"planner {version('kubernetes-placement-planner')}\n"


def test_all_well_is_0(planner: Planner, balanced: str) -> None:
    """Nothing pending and nothing broken."""
    assert planner("check", "-f", balanced).code == 0
    assert planner("simulate", "-f", balanced).code == 0


def test_findings_are_1(planner: Planner, broken: str, stuck: str) -> None:
    """A broken constraint and a pending pod both are findings, and no errors."""
    check, simulate = planner("check", "-f", broken), planner("simulate", "-f", stuck)
    assert (check.code, simulate.code) == (1, 1)
    assert (check.err, simulate.err) == ("", "")


@pytest.mark.parametrize("output", ["json", "wide", "yaml", "name"])
def test_the_form_does_not_change_the_exit_code(planner: Planner, broken: str, output: str) -> None:
    """A script may pick the form it likes and still rely on the code."""
    assert planner("check", "-f", broken, "-o", output).code == 1


def test_json_is_the_document(planner: Planner, broken: str, stuck: str) -> None:
    """What `-o json` prints validates as the document of the Python API."""
    report = CheckReport.model_validate_json(planner("check", "-f", broken, "-o", "json").out)
    assert report.violations == 1
    simulation = Simulation.model_validate_json(planner("simulate", "-f", stuck, "-o", "json").out)
    assert [decision.node for decision in simulation.decisions] == ["a1", None]


def test_yaml_says_the_same_as_json(planner: Planner, stuck: str) -> None:
    """Both forms carry the same data in the same order."""
    as_yaml = yaml.safe_load(planner("simulate", "-f", stuck, "-o", "yaml").out)
    as_json = json.loads(planner("simulate", "-f", stuck, "-o", "json").out)
    assert as_yaml == as_json
    assert list(as_yaml) == list(as_json)


def test_json_has_scores_only_when_asked(planner: Planner, stuck: str) -> None:
    """`-v` adds every refusal and every score."""
    plain = json.loads(planner("simulate", "-f", stuck, "-o", "json").out)["decisions"][1]
    verbose = json.loads(planner("simulate", "-f", stuck, "-o", "json", "-v").out)["decisions"][1]
    assert "rejected" not in plain
    assert verbose["rejected"]["a1"]["plugin"] == "NodeResourcesFit"


def test_names_are_what_the_exit_code_is_about(planner: Planner, broken: str, stuck: str) -> None:
    """`-o name` lists the pods left over, or the workloads whose constraint is broken."""
    assert planner("simulate", "-f", stuck, "-o", "name").out == "pod/huge -n shop\n"
    assert planner("check", "-f", broken, "-o", "name").out == "pod/web-0 -n shop\n"


def test_names_of_a_healthy_cluster_are_none(planner: Planner, balanced: str) -> None:
    """Nothing to name, nothing printed."""
    assert planner("check", "-f", balanced, "-o", "name").out == ""


def test_preemption_can_be_switched_off(planner: Planner, tmp_path: Path) -> None:
    """A pod of higher priority takes the room of another, unless it is told not to."""
    cluster = write(
        tmp_path / "full.json",
        node("a1", cpu="1"),
        pod("low", on="a1", cpu="900m"),
        pod("high", cpu="900m", priority=10),
    )
    assert planner("simulate", "-f", cluster).code == 0
    assert planner("simulate", "-f", cluster, "--no-preemption").code == 1


def test_a_seed_gives_the_same_draw_again(planner: Planner, tmp_path: Path) -> None:
    """Ties are drawn at random, and the same way for the same number."""
    nodes = [node(f"n{number}") for number in range(20)]
    cluster = write(tmp_path / "alike.json", *nodes, pod("any"))
    drawn = {planner("simulate", "-f", cluster, "--seed", str(seed)).out for seed in range(5)}
    again = {planner("simulate", "-f", cluster, "--seed", str(seed)).out for seed in range(5)}
    assert drawn == again
    assert len(drawn) > 1


def test_an_interrupt_is_130(planner: Planner, balanced: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a simulation ends with one short line."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.simulate", interrupted)
    ended = planner("simulate", "-f", balanced)
    assert (ended.code, ended.out, ended.err) == (130, "", "interrupted\n")


def test_an_error_of_ours_is_4(planner: Planner, balanced: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that asks for a report; the traceback only where asked."""

    def failing(_: object) -> None:
        raise ZeroDivisionError("no pods\nno nodes")

    monkeypatch.setattr("planner.check", failing)
    quiet, loud = planner("check", "-f", balanced), planner("check", "-f", balanced, "-v")
    assert (quiet.code, loud.code) == (4, 4)
    assert quiet.err.count("\n") == 1
    assert "ZeroDivisionError: no pods no nodes" in quiet.err
    assert "Traceback" in loud.err


def test_ctrl_c_while_a_class_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    """What went wrong: Python makes another error of it there, which was told as one of the planner."""

    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def reads_a_module() -> None:
        class _Read:
            field = Interrupted()

    assert ending(reads_a_module, verbose=False) == 130
    assert capsys.readouterr().err == "interrupted\n"
