"""What scripts of consolidations say of nodes whose pods cannot be read."""

import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

#: kubectl, as far as it is needed here: one cordoned node, and its pods where they can be read.
_KUBECTL = """#!/bin/sh
case "$*" in
*' get nodes '*) echo 'n1|true|yes' ;;
*' get pods '*) [ -n "$PODS" ] && printf "$PODS" || exit 1 ;;
esac
"""


@pytest.mark.parametrize(
    ("pods", "code", "words"),
    [
        ("\\n", 0, "empty: n1"),
        ("shop/agent|DaemonSet\\n", 0, "empty: n1"),
        ("shop/web|ReplicaSet\\n", 1, "stopped: n1 still has shop/web; plan again: planner again"),
        ("", 1, "stopped: the pods of n1 cannot be read; plan again: planner again"),
    ],
)
def test_a_node_is_empty_only_where_its_pods_were_read(
    tmp_path: Path, pods: str, code: int, words: str
) -> None:
    """The list of its pods failed, and the node was said to be empty, with the command that deletes it."""
    parts = ("frame", "ending", "pins", "cordons", "moves", "consolidation")
    texts = (files("cli.output.views.scripts").joinpath(f"{part}.sh").read_text() for part in parts)
    kubectl, script = tmp_path / "kubectl", tmp_path / "script.sh"
    kubectl.write_text(_KUBECTL)
    kubectl.chmod(0o755)
    ends = "AGAIN='planner again' PLAN='G|n1'; verify_empty; echo empty: $EMPTY"
    script.write_text("\n".join(("set -u", *texts, ends)))
    environment = {**os.environ, "CONTEXT": "c", "KUBECTL": str(kubectl), "PODS": pods}
    ended = subprocess.run(["sh", str(script)], env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout + ended.stderr) == (code, f"{words}\n")
