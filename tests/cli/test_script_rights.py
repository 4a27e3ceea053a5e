"""Scripts ask for every right that they need before they change anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, node, pod, write

_KUBECTL = """#!/bin/sh
case "$*" in *"can-i {right}"*) echo no; exit 1 ;; esac
"""
_CHECKS = {"drain": "check_draining", "consolidate": "check_going", "scale-down": "check_scaling"}


@pytest.mark.parametrize(
    ("command", "right", "told"),
    [
        ("drain a1 --force", "get nodes", "get nodes"),
        ("consolidate", "get nodes", "get nodes"),
        ("scale-down deploy/web=1", "get pods", "get pods in shop"),
        (
            "scale-down deploy/web=1",
            "get deployments.apps --subresource=scale",
            "get deployments.apps/scale in shop",
        ),
    ],
)
def test_what_kubectl_changes_it_reads_before(
    planner: Planner, tmp_path: Path, command: str, right: str, told: str
) -> None:
    """What went wrong: without the right to read it began, ended with 1, and planning again was no help."""
    path = write(tmp_path / "c.json", node("a1"), node("b1"), deployment("web", 2), pod("web-1", "a1"))
    words = command.split()
    text = planner(*words, "-f", path, "-o", "script").out
    begins = f"\nPLAN=$(plan); NAMESPACES=shop; {_CHECKS[words[0]]}"
    (tmp_path / "script.sh").write_text(text.replace('\nmain "$@"', begins))
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(_KUBECTL.format(right=right))
    kubectl.chmod(0o755)
    ended = subprocess.run(
        ["sh", str(tmp_path / "script.sh")],
        env={"KUBECTL": str(kubectl), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == f"refused, nothing was changed: this user may not {told}\n"
