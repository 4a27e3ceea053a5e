"""`--dask`: the same bytes from the workers of a Dask cluster, and its faults."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

from cli.input import dask_cluster
from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, node, write

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="there is no Dask")
SECONDS = 60
#: A planner that gives up a cluster, and an answer that is late, after a second.
_SHORT = """
from cli.input import dask_cluster
from cli.main import main
from planner.fleet import engine
dask_cluster._CONNECT_SECONDS = engine._GRACE_SECONDS = 1
main()
"""
_SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
_WORKER = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard"]


@dataclass
class DaskCluster:
    """A scheduler and workers on loopback."""

    address: str
    scheduler: subprocess.Popen[str]
    workers: list[subprocess.Popen[str]] = field(default_factory=list)


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """Two worker processes, ended by their ids; tests that end one of them come last."""
    home = tmp_path_factory.mktemp("dask")
    started: list[subprocess.Popen[str]] = []

    def start(words: list[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=home)
        started.append(process)
        return process

    try:
        scheduler = start([*_SCHEDULER, "--no-dashboard"])
        address = _address(scheduler)
        workers = [start([*_WORKER, "--no-nanny", address]) for _ in range(2)]
        yield DaskCluster(address, scheduler, workers)
    finally:
        for process in reversed(started):
            process.kill()
            process.communicate()


def _address(scheduler: subprocess.Popen[str]) -> str:
    assert scheduler.stderr is not None
    for line in scheduler.stderr:
        found = re.search(r"Scheduler at:\s+(tcp://\S+)", line)
        if found:
            return found[1]
    raise AssertionError("the scheduler did not start")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some clusters."""
    found = tmp_path / "clusters"
    found.mkdir()
    for replicas in range(1, 9):
        write(found / f"c{replicas}.json", node("a1", "a"), node("b1", "b"), deployment("web", replicas))
    (found / "broken.json").write_text("{")
    return found


def _wait_for_workers(planner: Planner, address: str, folder: Path) -> None:
    until = time.monotonic() + SECONDS
    while "no workers" in planner("fleet", "check", "--snapshots", str(folder), "--dask", address).err:
        assert time.monotonic() < until
        time.sleep(0.2)


@pytest.mark.long
def test_the_same_bytes_as_with_processes(planner: Planner, dask: DaskCluster, folder: Path) -> None:
    """Two workers on loopback."""
    _wait_for_workers(planner, dask.address, folder)
    asked = ("fleet", "capacity", "--snapshots", str(folder), "-o", "json")
    assert planner(*asked, "--dask", dask.address).out == planner(*asked).out


@pytest.mark.long
def test_a_cluster_that_is_a_folder_is_read_again(planner: Planner, dask: DaskCluster, folder: Path) -> None:
    """What went wrong: a worker of the run before held the folder, which itself had not changed."""
    _wait_for_workers(planner, dask.address, folder)
    clusters = folder.parent / "folders"
    (clusters / "a").mkdir(parents=True)
    for replicas in (1, 2, 3, 4, 5):
        write(clusters / "a" / "all.json", node("a1", "a"), deployment("web", replicas))
        asked = ("fleet", "check", "--snapshots", str(clusters), "--dask", dask.address, "-o", "json")
        assert json.loads(planner(*asked).out)["rows"][0]["summary"]["pending"] == replicas


@pytest.mark.long
def test_a_worker_that_is_killed(planner: Planner, dask: DaskCluster, folder: Path) -> None:
    """The other one answers."""
    _wait_for_workers(planner, dask.address, folder)
    os.kill(dask.workers[0].pid, signal.SIGKILL)
    dask.workers[0].wait()
    ended = planner("fleet", "check", "--snapshots", str(folder), "--dask", dask.address, "-o", "json")
    rows = json.loads(ended.out)["rows"]
    assert len(rows) == 9
    assert [row["cluster"] for row in rows if row["error"]] == ["broken"]


def test_no_cluster_at_the_address(planner: Planner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line."""
    monkeypatch.setattr(dask_cluster, "_CONNECT_SECONDS", 1)
    ended = planner("fleet", "check", "--snapshots", str(folder), "--dask", "tcp://127.0.0.1:1")
    assert (ended.code, ended.out) == (2, "")
    assert "tcp://127.0.0.1:1" in ended.err


@pytest.mark.long
def test_the_scheduler_is_gone_in_the_middle(dask: DaskCluster, folder: Path, planner: Planner) -> None:
    """Every row is there, with its answer or its error."""
    _wait_for_workers(planner, dask.address, folder)
    asked = ["fleet", "check", "--snapshots", str(folder), "--vary", "scale=deploy/web.shop=1..30"]
    more = ["--dask", dask.address, "-o", "jsonl", "--timeout", "1"]
    short = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
    with subprocess.Popen(
        [sys.executable, "-c", _SHORT, *asked, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=short,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        dask.scheduler.kill()
        lines += process.stdout.read().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 9 * 30
    assert process.returncode == 3
    assert all(row["error"] or row["document"] for row in rows)
