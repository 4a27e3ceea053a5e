"""The table of configurations, asked of the kube-scheduler that it was made from.

It writes down the configuration that it has understood and ends, and needs no API server for that.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.e2e.control_plane import Manifest, location
from tests.scheduler_configurations import ACCEPTED, DEFAULTS, OTHERS, REFUSED

_NOWHERE = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
}


@pytest.fixture(scope="module")
def program() -> Path:
    """kube-scheduler."""
    told = subprocess.run(
        [sys.executable, str(location()), "bin"], capture_output=True, text=True, check=True
    )
    return Path(told.stdout.strip()) / "kube-scheduler"


def refused(program: Path, home: Path, configs: Sequence[Manifest]) -> Iterator[bool]:
    """Of each, whether kube-scheduler does not start with it."""
    (home / "kubeconfig").write_text(json.dumps(_NOWHERE))
    for config in configs:
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        client = {"kubeconfig": str(home / "kubeconfig"), **config.get("clientConnection", {})}
        elected = {"leaderElection": {"leaderElect": False}}
        (home / "config").write_text(json.dumps({**head, **elected, **config, "clientConnection": client}))
        ended = subprocess.run(
            [program, "--config", "config", "--write-config-to", "written", "--secure-port", "0"],
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ("command failed" in ended.stderr) == bool(ended.returncode), ended.stderr
        yield ended.returncode != 0


def test_kube_scheduler_tells_the_same_mistakes(program: Path, tmp_path: Path) -> None:
    """It starts with none of the one kind and with all of the other."""
    wrong = [*(config for _, config in REFUSED), *DEFAULTS, OTHERS]
    found = zip(wrong, refused(program, tmp_path, wrong), strict=True)
    assert [config for config, no in found if not no] == []
    found = zip(ACCEPTED, refused(program, tmp_path, ACCEPTED), strict=True)
    assert [config for config, no in found if no] == []
