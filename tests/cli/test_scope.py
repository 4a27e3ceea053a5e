"""`-n`, `-A` and `-l` choose what is shown; the whole cluster always counts."""

import json
from pathlib import Path

import pytest

from cli.selector import parse_selector
from tests.cli.conftest import Planner
from tests.cli.manifests import lopsided, node, pod, write


@pytest.fixture
def two_teams(tmp_path: Path) -> str:
    """One node with room for one of two pods; the older one is not ours."""
    return write(
        tmp_path / "teams.json",
        node("a1", cpu="1"),
        pod("theirs", namespace="other", app="db", cpu="900m"),
        pod("ours", app="web", cpu="900m"),
    )


def _pods(output: str) -> list[str]:
    return [decision["pod"] for decision in json.loads(output)["decisions"]]


def test_all_namespaces_are_shown(planner: Planner, two_teams: str) -> None:
    """A snapshot is a whole: without -n, and with -A, everything is shown."""
    plain = planner("simulate", "-f", two_teams, "-o", "json").out
    assert _pods(plain) == ["other/theirs", "shop/ours"]
    assert planner("simulate", "-f", two_teams, "-o", "json", "-A", "-n", "shop").out == plain


def test_one_namespace_is_shown_and_both_are_simulated(planner: Planner, two_teams: str) -> None:
    """Our pod stays pending because of a pod that is not shown."""
    ended = planner("simulate", "-f", two_teams, "-n", "shop")
    assert ended.code == 1
    assert "theirs" not in ended.out
    assert "shop/ours stays pending" in ended.out


def test_the_exit_code_is_about_what_is_shown(planner: Planner, two_teams: str) -> None:
    """A team's pipeline does not fail for another team's pod."""
    assert planner("simulate", "-f", two_teams, "-n", "other").code == 0
    assert planner("simulate", "-f", two_teams, "-l", "app=db").code == 0


def test_check_is_about_what_is_shown(planner: Planner, tmp_path: Path) -> None:
    """Constraints and violations of other namespaces are neither shown nor counted."""
    path = write(tmp_path / "lopsided.json", *lopsided())
    assert planner("check", "-f", path, "-l", "app=web").code == 1
    other = planner("check", "-f", path, "-n", "other", "-o", "json")
    assert other.code == 0
    assert json.loads(other.out)["constraints"] == []


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("app=web", {"app": "web"}, True),
        ("app==web", {"app": "db"}, False),
        ("app!=web", {}, True),
        ("app in (web, db),tier", {"app": "db", "tier": ""}, True),
        ("app notin (web,db)", {"app": "web"}, False),
        ("!canary", {"canary": "yes"}, False),
        ("example.com/team=a.b_c-d", {"example.com/team": "a.b_c-d"}, True),
        ("app=", {"app": ""}, True),
    ],
)
def test_selectors_read_as_kubectl_reads_them(text: str, labels: dict[str, str], selected: bool) -> None:
    """Every operator of kubectl's -l."""
    assert parse_selector(text).matches(labels) is selected
