"""`planner check --metrics`: figures that Prometheus can read."""

import json
import os
import re
import stat
from pathlib import Path

import pytest

from cli.output.metrics import write_metrics
from planner.documents.plan import CheckReport, ConstraintReport
from tests.cli.conftest import Planner
from tests.cli.manifests import lopsided, pod, write

#: A line of the text format 0.0.4.
SAMPLE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r'(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (?P<value>\d+)'
)


def samples(path: Path) -> dict[str, int]:
    """The samples of a file; every line is one, or says what the following are, and none is there twice."""
    text = path.read_text()
    assert text.endswith("\n")
    found: dict[str, int] = {}
    typed: set[str] = set()
    for line in text.splitlines():
        if line.startswith("#"):
            typed |= {line.split()[2]} if line.startswith("# TYPE") else set()
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample is not None, line
        assert sample["name"] in typed
        key = line.rpartition(" ")[0]
        assert key not in found
        found[key] = int(sample["value"])
    return found


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """Three pods in one zone, none in the other, and one that is pending."""
    return write(tmp_path / "broken.json", *lopsided(), pod("later"))


def test_the_figures_are_those_of_the_report(planner: Planner, broken: str, tmp_path: Path) -> None:
    """Skew, what is allowed, pods too many, pods pending; the table is printed as ever."""
    path = tmp_path / "planner.prom"
    ended = planner("check", "-f", broken, "--metrics", str(path))
    assert ended == planner("check", "-f", broken)
    found = samples(path)
    by_name = {key.partition("{")[0]: value for key, value in found.items()}
    assert (by_name["planner_spread_skew"], by_name["planner_spread_max_skew"]) == (3, 1)
    assert (by_name["planner_spread_excess_pods"], by_name["planner_pods_pending"]) == (2, 1)
    assert by_name["planner_check_timestamp_seconds"] > 1_700_000_000


def test_survival_is_in_them(planner: Planner, broken: str, tmp_path: Path) -> None:
    """One line a domain, beside what the check says."""
    path = tmp_path / "planner.prom"
    asked = ("check", "-f", broken, "--survive", "topology.kubernetes.io/zone", "-o", "json")
    told = json.loads(planner(*asked, "--metrics", str(path)).out)
    found = samples(path)
    survive = {key: value for key, value in found.items() if key.startswith("planner_survive")}
    assert list(survive.values()) == [int(loss["ok"]) for loss in told["domains"]]
    assert len(survive) == 2
    assert any(key.startswith("planner_spread_skew") for key in found)


def test_the_file_is_replaced_at_once(planner: Planner, broken: str, tmp_path: Path) -> None:
    """Another file under the same name, readable for the collector, and nothing left beside it."""
    path = tmp_path / "metrics" / "planner.prom"
    path.parent.mkdir()
    path.write_text("old")
    before = path.stat().st_ino
    with path.open() as reader:
        planner("check", "-f", broken, "--metrics", str(path))
        assert reader.read() == "old"
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(path.parent.iterdir()) == [path]


def test_nothing_is_left_beside_it(
    planner: Planner, broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: after Ctrl-C in the middle the new file stayed under another name."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "metrics" / "planner.prom"
    path.parent.mkdir()
    monkeypatch.setattr(os, "replace", interrupted)
    assert planner("check", "-f", broken, "--metrics", str(path)).code == 130
    assert list(path.parent.iterdir()) == []


def test_a_folder_that_is_not_there(planner: Planner, broken: str, tmp_path: Path) -> None:
    """Is a mistake in the command line."""
    ended = planner("check", "-f", broken, "--metrics", str(tmp_path / "no" / "planner.prom"))
    assert (ended.code, ended.err.startswith("error: --metrics ")) == (2, True)


def test_labels_are_escaped(tmp_path: Path) -> None:
    """Quotes, backslashes and line ends, and two constraints that say the same become one line."""
    row = ConstraintReport(
        namespace='a"b\\c\nd',
        workload="w",
        topology_key="k",
        when_unsatisfiable="DoNotSchedule",
        max_skew=1,
        domains={"x": 2},
        global_minimum=0,
        skew=2,
        excess={"x": 1},
        ok=False,
    )
    report = CheckReport(constraints=(row, row.model_copy(update={"skew": 5})), violations=1)
    write_metrics(str(tmp_path / "m"), report, [], 7.0)
    found = samples(tmp_path / "m")
    (skew,) = [value for key, value in found.items() if key.startswith("planner_spread_skew")]
    assert skew == 5


def test_no_label_changes_with_a_rollout(tmp_path: Path) -> None:
    """matchLabelKeys puts a revision's hash into the selector: it would begin a time series each time."""
    row = ConstraintReport(
        namespace="shop",
        workload="Deployment/web",
        topology_key="zone",
        when_unsatisfiable="DoNotSchedule",
        max_skew=1,
        selector="pod-template-hash=abc,app=web,tier in (a,b)",
        domains={"a": 1},
        global_minimum=1,
        skew=0,
        ok=True,
    )
    write_metrics(
        str(tmp_path / "m.prom"),
        CheckReport(constraints=(row,), findings=(), hard_excess=0, violations=0, pending=0),
        (),
        0,
    )
    text = (tmp_path / "m.prom").read_text()
    assert 'selector="app=web,tier in (a,b)"' in text
    assert "hash" not in text
