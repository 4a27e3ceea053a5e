"""`planner fleet --resume` and `sweep --resume`: what is asked again, and what answers are kept under."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, node, pod, write

#: What only processes show is in test_fleet_processes.py.
pytestmark = pytest.mark.usefixtures("_workers_are_threads")


def test_only_what_is_missing_is_asked_again(planner: Planner, zones: str, tmp_path: Path) -> None:
    """Answers are kept by content: one more scenario is one more file, another cluster is another answer."""
    kept = tmp_path / "kept"
    asked = ("sweep", "check", "-f", zones, "--resume", str(kept), "-o", "json", "--vary")
    first = planner(*asked, "scale=deploy/web.shop=1..3").out
    before = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert len(before) == 3
    assert planner(*asked, "scale=deploy/web.shop=1..3").out == first
    planner(*asked, "scale=deploy/web.shop=1..4")
    after = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert {name: after[name] for name in before} == before
    assert len(after) == 4
    write(Path(zones), node("a1", "a"), deployment("web", 3))
    planner(*asked, "scale=deploy/web.shop=1..3")
    assert len([*kept.iterdir()]) == 7


def test_what_a_run_writes_is_no_cluster_of_the_next(
    planner: Planner, clusters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: kept answers and the report were rows, and answers depended on those kept before."""
    monkeypatch.chdir(clusters)
    own = ("--resume", "check", "--report", "report.html", "--metrics", "metrics.prom")
    first, second = (planner("fleet", "check", "--snapshots", ".", *own, "-o", "json").out for _ in range(2))
    assert first == second
    assert {row["cluster"] for row in json.loads(second)["rows"]} == {"broken", "lopsided", "well"}
    assert len([*(clusters / "check").iterdir()]) == 2


@pytest.mark.long
def test_kept_answers_depend_on_files_that_flags_name(
    planner: Planner, zones: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: files behind `=`, and -R, were no part of the question, and old answers came again."""
    monkeypatch.chdir(tmp_path)
    kept = ("--resume", str(tmp_path / "kept"))
    more = tmp_path / "more.json"
    for cpu, expected in (("1", 1), ("4", 2), ("4", 2)):
        write(more, node("new", "b", cpu=cpu))
        for flags in (("--vary", "add-nodes=more.json=1..1"), ("--add-nodes=1=more.json",)):
            planner("sweep", "check", "-f", zones, *flags, *kept)
        assert len([*(tmp_path / "kept").iterdir()]) == 2 * expected
    folder = tmp_path / "deep"
    (folder / "er").mkdir(parents=True)
    write(folder / "a.json", node("a1", "a"))
    write(folder / "er" / "b.json", pod("web-0"))
    flat, deep = (planner("sweep", "solve", "-f", str(folder), *flags, *kept) for flags in ((), ("-R",)))
    assert flat.out != deep.out


def test_answers_about_a_pipe_are_those_of_its_content(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: a pipe counted as empty, so that the answer about one cluster was kept for all others.

    Workers that answer for several runs, as those of Dask do, held what had come through it before.

    What is in a pipe that is added to every cluster is not known before a worker reads it: nothing is kept.
    """
    pipe, kept = tmp_path / "pipe", tmp_path / "kept"
    os.mkfifo(pipe)
    (tmp_path / "clusters").mkdir()
    write(tmp_path / "clusters" / "a.json", node("a1"))

    def pending(replicas: int, *command: str) -> int:
        text = Path(write(tmp_path / "web.json", node("b1"), deployment("web", replicas))).read_bytes()
        threading.Thread(target=pipe.write_bytes, args=(text,), daemon=True).start()
        ended = planner(*command, "-f", str(pipe), "--resume", str(kept), "-o", "json")
        (row,) = json.loads(ended.out)["rows"]
        found: int = row["document"]["pending"]
        return found

    for replicas in (2, 3):
        assert pending(replicas, "fleet", "check", "--snapshots", str(tmp_path / "clusters")) == replicas
    assert not [*kept.iterdir()]
    for replicas in (2, 3):
        assert pending(replicas, "sweep", "check") == replicas
    assert len([*kept.iterdir()]) == 2


def test_answers_are_kept_beside_or_above_the_clusters(
    planner: Planner, clusters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went wrong: all clusters below the folder of answers had one key, and got each other's."""
    monkeypatch.chdir(clusters.parent)
    asked = ("fleet", "check", "--snapshots", clusters.name, "-o", "json")
    usual = planner(*asked).out
    for _ in range(2):
        assert planner(*asked, "--resume", ".").out == usual
    ended = planner(*asked, "--resume", clusters.name)
    assert (ended.code, "answers are kept in the same folder" in ended.err) == (2, True)
