"""Scripts while the API server does not answer single questions: they say that, and nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import node, workload
from tests.e2e.stories import carried_out, planned

_FAILS = 'echo "Error from server (InternalError): no leader" >&2; exit 1'


@pytest.fixture
def script(live: ControlPlane, tmp_path: Path) -> Path:
    """The drain of a node with two pods."""
    live.create(node("old"), workload("web", 2))
    live.at_rest(2)
    live.create(node("new"))
    return planned(live, tmp_path, "drain", "old")


def failing(
    live: ControlPlane, script: Path, when: str, timeout: str = "180"
) -> subprocess.CompletedProcess[str]:
    """The script with a kubectl that fails when this holds of its words; `$seen` is a file for it."""
    kubectl, seen = script.parent / "kubectl", script.parent / "seen"
    kubectl.write_text(f'#!/bin/sh\nseen={seen}\nif {when}; then {_FAILS}; fi\nexec kubectl "$@"\n')
    kubectl.chmod(0o755)
    return carried_out(live, script, KUBECTL=str(kubectl), TIMEOUT=timeout)


def test_rights_that_cannot_be_asked_for(live: ControlPlane, script: Path) -> None:
    """An error of the API server was taken for a right that the user lacks."""
    ended = failing(live, script, 'case "$*" in *"can-i patch nodes"*) :;; *) ! :;; esac')
    assert (ended.returncode, ended.stdout) == (2, "")
    assert (
        "what this user may do cannot be told: Error from server (InternalError): no leader" in ended.stderr
    )
    assert "may not" not in ended.stderr


def test_a_cluster_that_cannot_be_told(live: ControlPlane, script: Path) -> None:
    """What was reported was a second question, and its answer was the namespace as a table."""
    once = 'case "$*" in *"get namespace"*) [ ! -e "$seen" ] && : >"$seen";; *) ! :;; esac'
    ended = failing(live, script, once)
    assert ended.returncode == 2
    assert ended.stderr == (
        "refused, nothing was changed: the cluster cannot be told: "
        "Error from server (InternalError): no leader\n"
    )


def test_marks_that_cannot_be_read_in_the_end(live: ControlPlane, script: Path) -> None:
    """It was done, and the nodes cordoned, unseen; started again the script takes the annotation off."""
    cordoned = (
        'case "$*" in *"patch node old"*) : >"$seen"; ! :;; *"get nodes"*) [ -e "$seen" ];; *) ! :;; esac'
    )
    ended = failing(live, script, cordoned, "10")
    assert (ended.returncode, "done" in ended.stdout) == (1, False)
    assert "stopped: the nodes cannot be read: Error from server (InternalError): no leader" in ended.stderr
    assert "whether all nodes are open that were is not known: start this again" in ended.stderr
    assert carried_out(live, script).returncode == 0
    (old,) = live.get("nodes", fields="metadata.name=old")
    assert "planner/drain" not in old["metadata"].get("annotations", {})
    assert old["spec"]["unschedulable"]


def test_a_workload_that_cannot_be_read(live: ControlPlane, script: Path) -> None:
    """What was reported was a second question, and its answer was the Deployment as a table."""
    once = 'case "$*" in *"get Deployment/web"*) [ ! -e "$seen" ] && : >"$seen";; *) ! :;; esac'
    ended = failing(live, planned(live, script.parent, "scale-down", "deployment/web=1"), once)
    assert ended.returncode == 1
    words = "stopped: Deployment/web in default: Error from server (InternalError): no leader; plan again"
    assert ended.stderr.startswith(words)
