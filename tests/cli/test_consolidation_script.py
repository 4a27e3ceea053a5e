"""What scripts of consolidations say of nodes whose pods cannot be read."""

import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

#: kubectl, as far as it is needed here: one cordoned node, and its pods where they can be read.
_KUBECTL = """#!/bin/sh
case "$*" in
*' patch '*) exit 1 ;;
*' get nodes '*) [ -n "$NODES" ] && echo "$NODES" || exit 1 ;;
*' get pods '*) [ -n "$PODS" ] && printf "$PODS" || exit 1 ;;
esac
"""


_MARKED = "n1|true|yes"


def run_part(folder: Path, ends: str, pods: str = "\\n", nodes: str = _MARKED) -> tuple[int, str]:
    """Run some lines with all that a script of a consolidation has; the exit code and both streams.

    An API server that does not answer has not done so for long: nothing waits for it.
    """
    parts = ("frame", "holders", "ending", "pins", "cordons", "moves", "consolidation")
    texts = (files("cli.output.views.scripts").joinpath(f"{part}.sh").read_text() for part in parts)
    kubectl, script = folder / "kubectl", folder / "script.sh"
    kubectl.write_text(_KUBECTL)
    kubectl.chmod(0o755)
    begins = "AGAIN='planner again' PLAN='G|n1' AWAY_SINCE=1"
    script.write_text("\n".join(("set -u", *texts, begins, ends)))
    environment = {**os.environ, "CONTEXT": "c", "KUBECTL": str(kubectl), "PODS": pods, "NODES": nodes}
    ended = subprocess.run(["sh", str(script)], env=environment, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


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
    assert run_part(tmp_path, "verify_empty; echo empty: $EMPTY", pods) == (code, f"{words}\n")


@pytest.mark.parametrize(("nodes", "which"), [(_MARKED, "n1"), ("", "some, which cannot be read now")])
def test_nodes_that_stay_cordoned_are_not_said_to_be_open(tmp_path: Path, nodes: str, which: str) -> None:
    """First they were said to be open again; where they could not be read the shell ended with an error."""
    told = f"still cordoned: {which}; start this again, or kubectl uncordon them\n"
    assert run_part(tmp_path, "CLOSED=yes; put_back_more", nodes=nodes) == (0, told)


def test_nodes_that_another_script_has_taken_over_are_left_to_it(tmp_path: Path) -> None:
    """They were opened under it, and it ended; no patch is made, which would fail here."""
    nodes = f"{_MARKED}\nnode n1|7@elsewhere 2026-01-02T03:04:05Z a.sh"
    told = "the nodes that were to go are open again, but for those that another script has taken over: n1\n"
    assert run_part(tmp_path, "CLOSED=yes; put_back_more", nodes=nodes) == (0, told)


def test_a_node_is_not_taken_for_one_whose_name_differs_in_a_dot(tmp_path: Path) -> None:
    """Another user had cordoned n.1, the script n-1; it opened both, as to grep a dot is any sign."""
    put_back = "CLOSED=yes PLAN='G|n.1\nG|n-1'; put_back_more"
    told = "still cordoned: n-1; start this again, or kubectl uncordon them\n"
    assert run_part(tmp_path, put_back, nodes="n.1|true|\nn-1|true|yes") == (0, told)
