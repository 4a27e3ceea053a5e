"""`planner sweep` and `planner fleet` with processes: the same answers, a full disk, Ctrl-C, a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.documents.fleet import Sweep
from tests.cli.conftest import INTERRUPTIBLE, Planner
from tests.cli.manifests import deployment, write
from tests.running import group_runs

SECONDS = 60


def test_the_bytes_are_the_same_with_any_number_of_workers(planner: Planner, zones: str) -> None:
    """One, or more than there are cores."""
    asked = (
        "sweep",
        "simulate",
        "-f",
        zones,
        "--vary",
        "lose=topology.kubernetes.io/zone",
        "--vary",
        "scale=deploy/web.shop=1..6",
    )
    outs = {planner(*asked, "--jobs", jobs, "-o", "jsonl").out for jobs in ("1", "3")}
    assert len(outs) == 1


@pytest.mark.long
def test_a_full_disk_costs_no_row(clusters: Path, tmp_path: Path) -> None:
    """What cannot be kept is said, the answers are there."""
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)); "
        "from cli.main import main; main()"
    )
    words = [
        "fleet",
        "check",
        "--snapshots",
        str(clusters),
        "--resume",
        str(tmp_path / "kept"),
        "-o",
        "jsonl",
    ]
    ended = subprocess.run(
        [sys.executable, "-c", limited, *words], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert len(ended.stdout.splitlines()) == 3
    assert "not all answers are kept: file too large" in ended.stderr.replace("\n  ", " ")
    assert not [*(tmp_path / "kept").iterdir()]


@pytest.mark.long
@pytest.mark.parametrize("question", ["check", "simulate"])
def test_a_worker_has_imported_what_it_needs(zones: str, question: str) -> None:
    """What went wrong: each worker imported most of the planner anew, for which its first question waited."""
    program = (
        "import sys, cli.commands.prepared; from cli.main import run; before = set(sys.modules); "
        "run(sys.argv[1:]); print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    words = [sys.executable, "-c", program, question, "-f", zones]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=True)
    imported = ended.stderr.splitlines()[-1].split()
    assert not [name for name in imported if name.startswith(("models.", "planner."))]


@pytest.mark.long
def test_what_kustomize_builds_is_built_again(zones: str, tmp_path: Path) -> None:
    """What went wrong: an overlay whose base had changed was answered for as before the change."""
    overlay, built, kubectl = tmp_path / "overlay", tmp_path / "built.json", tmp_path / "bin" / "kubectl"
    for folder in (overlay, kubectl.parent):
        folder.mkdir()
    (overlay / "kustomization.yaml").write_text("resources: [../base]\n")
    kubectl.write_text(f"#!/bin/sh\ncat {built}\n")
    kubectl.chmod(0o755)
    words = ["sweep", "rollout", "--snapshot", zones, "-f", str(overlay), "--resume", str(tmp_path / "kept")]
    for replicas in (1, 90):
        write(built, deployment("other", replicas))
        ended = subprocess.run(
            [sys.executable, "-c", "from cli.main import main; main()", *words, "--replays", "0"],
            env={**os.environ, "PATH": f"{kubectl.parent}:{os.environ['PATH']}"},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        assert ended.returncode == int(replicas == 90)


@pytest.mark.long
def test_ctrl_c_prints_what_there_is(zones: str, tmp_path: Path) -> None:
    """And says how to go on; no process is left."""
    kept = tmp_path / "kept"
    words = ["sweep", "check", "-f", zones, "--vary", "scale=deploy/web.shop=1..1500", "--resume", str(kept)]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *words, "-o", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        until = time.monotonic() + SECONDS
        while not (kept.exists() and any(kept.iterdir())) and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert out, err
    document = Sweep.model_validate(json.loads(out))
    assert process.returncode == 3
    assert len(document.rows) == 1500
    assert 0 < document.totals.well < 1500
    assert "the same command goes on" in err
    while group_runs(process.pid):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.long
def test_a_killed_planner_leaves_no_worker(zones: str, tmp_path: Path) -> None:
    """Nobody waits for their answers."""
    kept = tmp_path / "kept"
    words = ["sweep", "check", "-f", zones, "--vary", "scale=deploy/web.shop=1..500", "--resume", str(kept)]
    with subprocess.Popen(
        [sys.executable, "-c", "from cli.main import main; main()", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        until = time.monotonic() + SECONDS
        while not (kept.exists() and any(kept.iterdir())) and time.monotonic() < until:
            time.sleep(0.05)
        process.kill()
    while group_runs(process.pid):
        assert time.monotonic() < until
        time.sleep(0.05)
