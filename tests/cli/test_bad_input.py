"""Whatever cannot be used: exit code 2, one line a problem with its place, nothing on stdout."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import node, pod, write


@pytest.fixture
def good(tmp_path: Path) -> str:
    """A file without any fault."""
    return write(tmp_path / "good.json", node("a1"), pod("web-0"))


def _lines(planner: Planner, *arguments: str) -> list[str]:
    ended = planner(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert "Traceback" not in ended.err
    return ended.err.splitlines()


def test_a_missing_file(planner: Planner) -> None:
    """The file is named."""
    assert _lines(planner, "check", "-f", "nowhere.yaml") == [
        "error: nowhere.yaml: no such file or directory"
    ]


def test_a_name_that_no_file_can_have(planner: Planner) -> None:
    """Looking for a kustomization.yaml or Chart.yaml in such a folder was an internal error."""
    name = "a" * 300
    assert _lines(planner, "check", "-f", name) == [f"error: {name}: file name too long"]


def test_no_name_is_not_the_folder_where_planner_runs(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty name, as of a variable that is not set, was the current folder where kustomize builds it."""
    (tmp_path / "kustomization.yaml").write_text("resources: [nowhere.yaml]\n")
    monkeypatch.chdir(tmp_path)
    assert _lines(planner, "check", "-f", "") == ["error: -f: the name of a file or folder is missing"]


def test_every_problem_has_its_line(planner: Planner, good: str) -> None:
    """Two bad files beside a good one are two lines."""
    lines = _lines(planner, "simulate", "-f", "one.yaml", "-f", good, "-f", "two.yaml")
    assert [line.split(":")[1].strip() for line in lines] == ["one.yaml", "two.yaml"]


def test_of_many_problems_the_first_are_told(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: a snapshot and a copy of it in one folder had a line for every pod."""
    objects = [node("a1"), *(pod(f"web-{number}") for number in range(30))]
    for name in ("a.json", "b.json"):
        write(tmp_path / name, *objects)
    lines = [line for line in _lines(planner, "check", "-f", str(tmp_path)) if line.startswith("error: ")]
    assert (len(lines), lines[-1]) == (21, "error: and 11 more (-v shows all)")
    lines = _lines(planner, "check", "-v", "-f", str(tmp_path))
    assert sum(line.startswith("error: ") for line in lines) == 31


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("", "is empty"),
        ("{", "broken"),
        ("kind: [", "broken YAML"),
        ('{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}', "metadata"),
    ],
)
def test_broken_content(planner: Planner, tmp_path: Path, content: str, place: str) -> None:
    """The line says which file, and what is wrong with it."""
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    (line,) = _lines(planner, "check", "-f", str(path))
    assert "bad.yaml" in line
    assert place in line


def test_a_bad_quantity(planner: Planner, tmp_path: Path) -> None:
    """The object and the field are named, and the value is quoted."""
    path = write(tmp_path / "bad.json", node("a1"), pod("web-0", cpu="0.5x"))
    (line,) = _lines(planner, "check", "-f", path)
    assert "Pod shop/web-0" in line
    assert "resources.requests" in line
    assert "0.5x" in line


def test_an_empty_snapshot_says_what_was_read(planner: Planner, tmp_path: Path) -> None:
    """Neither nodes nor pods is no cluster; the objects that were there are counted."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    path = write(tmp_path / "services.json", service)
    (line,) = _lines(planner, "check", "-f", path)
    assert line == f"error: {path}: neither nodes nor pods, only Service (1)"


@pytest.mark.parametrize("kind", ["Status", "Table"])
def test_what_is_no_cluster_is_told_by_its_kind(planner: Planner, tmp_path: Path, kind: str) -> None:
    """What went wrong: an answer of the API server that is an error was `nothing that the planner reads`."""
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {}}))
    (line,) = _lines(planner, "check", "-f", str(path))
    nothing = "neither nodes nor pods, and nothing else that the planner reads"
    assert line == f"error: {path}: {nothing} (skipped 1 object of kind {kind})"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["chek"], "chek"),
        (["check", "--colour"], "--colour"),
        (["check", "-o", "xml"], "xml"),
        (["simulate", "--seed", "many"], "--seed"),
        (["check", "snapshot.json"], "snapshot.json"),
        (["check", "-f"], "-f"),
    ],
)
def test_usage(planner: Planner, arguments: list[str], told: str) -> None:
    """A mistake in the command line is one line too, and points to the help."""
    (line,) = _lines(planner, *arguments)
    assert told in line
    assert line.endswith("(--help shows how)")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["drain", "a1", "--at-once", "-1"], "expected at least 1, found '-1'"),
        (["compare", "--time-limit", "-0.5"], "expected at least 0.0, found '-0.5'"),
        (["compare", "--replays", f"{1 << 70}"], f"expected at most 2147483647, found '{1 << 70}'"),
        (["consolidate", "--max-moves", f"{1 << 70}"], f"expected at most 2147483647, found '{1 << 70}'"),
        (["sweep", "check", "--jobs", f"{1 << 31}"], f"expected at most 4096, found '{1 << 31}'"),
        (["compare", "--replays", "few"], "expected a whole number, found 'few'"),
        (["solve", "--time-limit", "soon"], "expected a number, found 'soon'"),
    ],
)
def test_a_number_that_cannot_be_is_told_with_what_was_found(
    planner: Planner, arguments: list[str], found: str
) -> None:
    """What went wrong: `Input should be greater than or equal to 1` does not say what was found."""
    (line,) = _lines(planner, *arguments)
    assert line == f"error: Invalid value for '{arguments[-2]}': {found} (--help shows how)"


@pytest.mark.parametrize("selector", ["a===b", "in (a)", "a in b", ",", "a=b,,c", "a b", "deploy/", "a=-b"])
def test_a_bad_selector(planner: Planner, good: str, selector: str) -> None:
    """The part that is no condition is quoted."""
    (line,) = _lines(planner, "check", "-f", good, "-l", selector)
    assert line.startswith("error: -l ")


def test_an_empty_namespace(planner: Planner, good: str) -> None:
    """`-n ""` comes from an unset variable, and would silently show nothing."""
    assert _lines(planner, "check", "-f", good, "-n", "") == ["error: -n: the name of a namespace is missing"]


@pytest.mark.usefixtures("_workers_are_threads")
@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["check", "--junit"], "file"),
        (["check", "--metrics"], "file"),
        (["check", "--report"], "file"),
        (["sweep", "check", "--report"], "file"),
        (["snapshot", "-o"], "file"),
        (["sweep", "check", "--resume"], "folder"),
    ],
)
def test_an_option_without_the_name_of_its_file(
    planner: Planner, good: str, arguments: list[str], what: str
) -> None:
    """What went wrong: `--junit : is a directory`, and answers kept in the folder one happens to be in."""
    (line,) = _lines(planner, *arguments, "", "-f", good)
    assert line == f"error: {arguments[-1]}: the name of a {what} is missing"


def test_an_empty_name_of_a_folder_of_snapshots(planner: Planner) -> None:
    """What went wrong: every file of the folder one happens to be in was asked about."""
    assert _lines(planner, "fleet", "check", "--snapshots", "") == [
        "error: --snapshots: the name of a folder is missing"
    ]


def test_files_and_a_live_cluster_at_once(planner: Planner, good: str) -> None:
    """Nothing is ignored silently: the line says how to have both."""
    (line,) = _lines(planner, "check", "-f", good, "--context", "prod")
    assert "planner snapshot" in line
