"""`planner sweep` and `planner fleet` from the shell: rows, forms, faults, and going on."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from cli.input.clusters import QUESTIONS, many_clusters
from planner.documents.fleet import Fleet, Sweep
from tests import seeds
from tests.cli.api_server import serving, write_kubeconfig
from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, node, write

#: What only processes show is in test_fleet_processes.py.
pytestmark = pytest.mark.usefixtures("_workers_are_threads")
ZONE = "topology.kubernetes.io/zone"
SECONDS = 60


def rows_of(text: str) -> list[dict[str, Any]]:
    """The rows of a document."""
    rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


def test_every_cluster_has_a_row_the_worst_first(planner: Planner, clusters: Path) -> None:
    """What cannot be read is a row with its error, and the exit code says so."""
    ended = planner("fleet", "check", "--snapshots", str(clusters))
    assert ended.code == 3
    assert ended.verdict == "3 answers: 1 well, 1 with findings, 1 without an answer."
    told = [
        line.split()[0] for line in ended.out.splitlines() if re.match(r"\w+ +(no answer|find|well)", line)
    ]
    assert told == ["broken", "lopsided", "well"]
    assert "broken YAML: did not find" in " ".join(ended.out.split())


def test_a_system_that_does_not_say_which_processors_may_be_used(
    planner: Planner, clusters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: without `--jobs` macOS got a traceback."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert planner("fleet", "check", "--snapshots", str(clusters)).code == 3


@pytest.mark.parametrize("question", [("check",), ("check", "--survive", ZONE), ("simulate",), ("capacity",)])
def test_an_answer_is_that_of_the_command_alone(
    planner: Planner, clusters: Path, question: tuple[str, ...]
) -> None:
    """Its document, figure by figure in the same order, and its exit code."""
    rows = rows_of(planner("fleet", *question, "--snapshots", str(clusters), "-o", "json").out)
    for row in rows:
        if row["cluster"] == "broken":
            continue
        alone = planner(*question, "-f", str(clusters / f"{row['cluster']}.json"), "-o", "json")
        assert alone.code == row["exitCode"]
        if alone.code < 2:
            assert json.dumps(row["document"], indent=2) == json.dumps(json.loads(alone.out), indent=2)
        else:
            assert row["error"] in alone.err


def test_a_sweep_is_all_combinations(planner: Planner, zones: str) -> None:
    """Each is what the flags of the command say."""
    asked = (
        "--vary",
        f"lose={ZONE}",
        "--vary",
        "scale=deploy/web.shop=1..2,9",
        "--vary",
        "kubernetes=1.35..1.36",
    )
    ended = planner("sweep", "simulate", "-f", zones, *asked, "-o", "json")
    document = Sweep.model_validate(json.loads(ended.out))
    assert len(document.rows) == 3 * 3 * 2 == document.totals.rows
    row = next(
        r for r in document.rows if r.scenario == f"lose={ZONE}=b scale=deploy/web.shop=9 kubernetes=1.35"
    )
    flags = ("--remove-node", f"{ZONE}=b", "--scale", "deploy/web.shop=9", "--kubernetes", "1.35")
    alone = planner("simulate", "-f", zones, *flags, "-o", "json")
    assert (json.loads(alone.out), alone.code) == (row.document, row.exit_code)


@pytest.mark.parametrize(
    ("flags", "vary", "told"),
    [
        (("--remove-node", "a1"), "drain=each", {"drain=b1", "drain=c1"}),
        (("--remove-node=a1",), f"lose={ZONE}", {f"lose={ZONE}=b", f"lose={ZONE}=c"}),
        (
            ("--add-nodes", f"1=a1,{ZONE}=d"),
            "drain=each",
            {f"drain={name}" for name in ("a1", "a1-1", "b1", "c1")},
        ),
        (("--cordon", "a1"), "drain=each", {"drain=a1", "drain=b1", "drain=c1"}),
    ],
)
def test_each_node_is_one_after_the_own_flags(
    planner: Planner, zones: str, flags: tuple[str, ...], vary: str, told: set[str]
) -> None:
    """What went wrong: a node that the question removes was to be drained, and one that it adds was not."""
    ended = planner("sweep", "simulate", *flags, "-f", zones, "--vary", vary, "-o", "json")
    assert ended.code < 3
    assert {row["scenario"] for row in rows_of(ended.out)} == told


@pytest.mark.long
def test_where_nothing_is_counted_nothing_is_the_least(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: a cluster without workloads had leastMore 0, as one where nothing more fits."""
    folder = tmp_path / "clusters"
    folder.mkdir()
    write(folder / "empty.json", node("a1", "a"))
    write(folder / "room.json", node("a1", "a", cpu="4"), deployment("web", 1, cpu="1"))
    ended = planner("fleet", "capacity", "--snapshots", str(folder), "-o", "json")
    assert [(row["cluster"], row["summary"]["leastMore"]) for row in rows_of(ended.out)] == [
        ("room", 3),
        ("empty", None),
    ]
    metrics = tmp_path / "metrics"
    shown = planner("fleet", "capacity", "--snapshots", str(folder), "--metrics", str(metrics))
    assert "empty     well     0              -" in shown.out
    text = metrics.read_text()
    assert 'fleet_least_more{cluster="room"} 3' in text
    assert 'fleet_least_more{cluster="empty"}' not in text


@pytest.mark.long
def test_many_rows_are_told_by_what_they_have_in_common(planner: Planner, zones: str) -> None:
    """At which values it is not well any more; -v has every row."""
    varied = ("--vary", f"lose={ZONE}", "--vary", "scale=deploy/web.shop=1..22")
    asked = ("sweep", "simulate", "-f", zones, *varied, "--jobs", "1")
    ended = planner(*asked)
    head, *groups = ended.out.split("\n\n")[1].splitlines()
    assert head.endswith("NOT WELL AT SCALE deploy/web.shop")
    rows = rows_of(planner(*asked, "-o", "json").out)
    for line in groups:
        zone, *_, word, number = line.split()
        assert word == "from"
        failing = [row["scenario"] for row in rows if f"={zone} " in row["scenario"] and row["exitCode"]]
        assert int(number) == min(int(name.rpartition("=")[2]) for name in failing)
    assert len(planner(*asked, "-v").out.splitlines()) > 66 > len(ended.out.splitlines())


def test_no_two_clusters_have_one_name(tmp_path: Path) -> None:
    """What went wrong: a.json and a.json.yaml were both a.json; a link had the name of its target."""
    for name in ("a.json", "a.yaml", "a.json.yaml", "b.json", "c.snapshot.gz"):
        (tmp_path / name).touch()
    (tmp_path / "link.json").symlink_to(tmp_path / "b.json")
    found = many_clusters(None, str(tmp_path), None, None, every=False)
    assert {Path(one.files[0]).name: one.name for one in found} == {
        "a.json": "a.json",
        "a.json.yaml": "a.json.yaml",
        "a.yaml": "a.yaml",
        "b.json": "b",
        "c.snapshot.gz": "c",
        "link.json": "link",
    }


def test_json_lines_validate_row_by_row(planner: Planner, clusters: Path) -> None:
    """One for every cluster, in their order."""
    lines = planner("fleet", "check", "--snapshots", str(clusters), "-o", "jsonl").out.splitlines()
    assert [json.loads(line)["cluster"] for line in lines] == ["broken", "lopsided", "well"]


def test_names_are_what_is_not_well(planner: Planner, clusters: Path) -> None:
    """For the next command."""
    ended = planner("fleet", "check", "--snapshots", str(clusters), "-o", "name")
    assert ended.out.splitlines() == ["broken", "lopsided"]


def test_nothing_leaks_from_one_cluster_into_the_next(planner: Planner, tmp_path: Path) -> None:
    """One worker, clusters with the same names of everything and other numbers."""
    folder = tmp_path / "alike"
    folder.mkdir()
    for replicas in range(1, 4):
        write(folder / f"c{replicas:02}.json", node("a1", "a"), node("b1", "b"), deployment("web", replicas))
    asked = ("--snapshots", str(folder), "--vary", "scale=deploy/web.shop=3,1", "--jobs", "1", "-o", "json")
    plain = ("--snapshots", str(folder), "--jobs", "1", "-o", "json")
    rows = rows_of(planner("fleet", "capacity", *plain).out)
    assert {row["cluster"]: row["document"]["workloads"][0]["replicas"] for row in rows} == {
        f"c{replicas:02}": replicas for replicas in range(1, 4)
    }
    changed = rows_of(planner("fleet", "capacity", *asked).out)
    assert {
        row["document"]["workloads"][0]["replicas"] for row in changed if row["scenario"].endswith("=3")
    } == {3}


def test_a_file_whose_name_is_not_utf8_is_a_cluster(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: the whole fleet ended with an internal error, as JSON has no such text."""
    clusters = tmp_path / "clusters"
    names = (b"\xff.json", b"\xfe.yaml", b"folder/\xfd.json")
    for name, text in zip(names, (b"{}", b"kind: [", b"{"), strict=True):
        path = clusters / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    asked = ("fleet", "check", "--snapshots", str(clusters), "--resume", str(tmp_path / "kept"))
    ended = planner(*asked, "-o", "json")
    assert ended.code == 3
    assert {row["cluster"] for row in rows_of(ended.out)} == {"\\udcff", "\\udcfe", "folder"}


def test_releases_that_are_decided_as_others_are_told(planner: Planner, zones: str) -> None:
    """What went wrong: the table had rows for 1.20 and 1.34, both decided as 1.34, and said nothing of it."""
    ended = planner("sweep", "check", "-f", zones, "--vary", "kubernetes=1.20,1.34", "-o", "json")
    note = "Kubernetes 1.20 is older than what the planner knows: decided as 1.34 would"
    assert json.loads(ended.out)["notes"] == [note]
    assert f"note: {note}\n" in ended.err


def test_a_context_that_refuses_is_a_row(planner: Planner, tmp_path: Path) -> None:
    """The others are answered."""
    kubeconfig = tmp_path / "kubeconfig"
    with serving({"nodes": [node("a1")]}) as server:
        write_kubeconfig(kubeconfig, server.server_port, "here")
        config = json.loads(kubeconfig.read_text())
        config["clusters"].append({"name": "d", "cluster": {"server": "http://127.0.0.1:1"}})
        config["contexts"].append({"name": "gone", "context": {"cluster": "d", "user": "u"}})
        kubeconfig.write_text(json.dumps(config))
        ended = planner("fleet", "check", "--all-contexts", "--kubeconfig", str(kubeconfig), "-o", "json")
    rows = {row["cluster"]: row for row in rows_of(ended.out)}
    assert ended.code == 3
    assert rows["here"]["exitCode"] == 0
    assert rows["gone"]["document"] is None
    assert "127.0.0.1:1" in rows["gone"]["error"]
    assert "--snapshots of fleet" in rows["gone"]["error"], "-f alone is no help in a fleet"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sweep", "snapshot"), "no question about a cluster"),
        (("sweep", "check", "--frobnicate"), "No such option"),
        (("sweep", "check", "--watch"), "of no use"),
        (("sweep", "check", "--vary", "lose"), "expected lose=KEY"),
        (("sweep", "check", "--vary", "lose=no/such"), "no node has the label no/such"),
        (("sweep", "check", "--vary", "scale=deploy/web=5..1"), "5..1 is no range"),
        (("sweep", "check", "--vary", "scale=deploy/web=1..2.5"), "1..2.5 is no range"),
        (
            ("sweep", "check", "--vary", "scale=deploy/web=1..100001"),
            "1..100001 has 100,001 values, and 100,000 are the most",
        ),
        (("sweep", "check", "--vary", "kubernetes=1.35..2.36"), "1.35..2.36 is no range"),
        (("sweep", "check", "--vary", "kubernetes=1.34", "--vary", "kubernetes=1.35"), "given twice"),
        (("sweep", "check", "--resume", "{file}"), "file exists"),
        (("fleet",), "Missing argument"),
        (("fleet", "check"), "which clusters?"),
        (("fleet", "check", "--snapshots", "{empty}"), "nothing is in it"),
        (("fleet", "check", "--snapshots", "{clusters}", "--part", "4/4"), "expected K/N"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    planner: Planner, clusters: Path, zones: str, words: tuple[str, ...], said: str
) -> None:
    """Exit code 2, before anything is asked many times."""
    empty = clusters.parent / "empty"
    empty.mkdir()
    places = {"clusters": str(clusters), "empty": str(empty), "file": zones}
    source = ("-f", zones) if words[0] == "sweep" else ()
    ended = planner(*(word.format(**places) for word in words), *source)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_parts_are_all_clusters_once(planner: Planner, clusters: Path) -> None:
    """For Indexed Jobs."""
    names = []
    for part in ("0/2", "1/2"):
        asked = ("fleet", "check", "--snapshots", str(clusters), "--part", part, "-o", "jsonl")
        names += [json.loads(line)["cluster"] for line in planner(*asked).out.splitlines()]
    assert sorted(names) == ["broken", "lopsided", "well"]


def test_flags_of_the_same_name_are_told_apart(planner: Planner, clusters: Path) -> None:
    """`--jobs` of rebalance is a flag, that of the fleet has a number."""
    ended = planner("fleet", "rebalance", "--jobs", "--snapshots", str(clusters), "--jobs", "1", "-o", "json")
    document = Fleet.model_validate(json.loads(ended.out))
    assert document.command == "planner rebalance --jobs"
    assert document.totals.unanswered == 1


@pytest.mark.parametrize("question", seeds.at_first(4, QUESTIONS))
def test_every_question_has_figures(planner: Planner, zones: str, question: str) -> None:
    """No command whose document has no summary."""
    more = {
        "scale-down": ["deploy/web.shop=1"],
        "drain": ["a1"],
        "rollout": ["--scale", "deploy/web.shop=4,2"],
    }.get(question, [])
    source = "--snapshot" if question == "rollout" else "-f"
    rows = rows_of(planner("sweep", question, *more, source, zones, "--jobs", "1", "-o", "json").out)
    assert [row["error"] for row in rows] == [""]
    assert rows[0]["summary"]


def test_the_page_opens_every_answer(planner: Planner, zones: str, tmp_path: Path) -> None:
    """A matrix whose cells lead to what the command alone shows."""
    page = tmp_path / "page.html"
    asked = ("--vary", f"lose={ZONE}", "--vary", "kubernetes=1.35,1.36", "--report", str(page))
    planner("sweep", "check", "-f", zones, *asked)
    text = page.read_text()
    links = re.findall(r'href="#(answer-\d+)"', text)
    assert sorted(links) == sorted(2 * re.findall(r'id="(answer-\d+)"', text))
    assert len(set(links)) == 6
    assert "kubernetes=1.36" in text
    assert "<script" not in text


def test_metrics_name_the_cluster(planner: Planner, clusters: Path, tmp_path: Path) -> None:
    """A figure of each, and how each ended."""
    file = tmp_path / "fleet.prom"
    planner("fleet", "check", "--snapshots", str(clusters), "--metrics", str(file))
    lines = file.read_text().splitlines()
    assert 'planner_fleet_exit_code{cluster="broken"} 2' in lines
    assert 'planner_fleet_violations{cluster="well"} 0' in lines
