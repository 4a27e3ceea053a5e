"""What scripts wait for between waves: pods told by their uids, in few requests, for a time that is known."""

import os
import subprocess
from importlib.resources import files
from pathlib import Path

from tests.cli.script_clock import put_clock

#: kubectl, as far as it is needed here.
_KUBECTL = """#!/bin/sh
# Every call is noted; the n-th list of pods of a namespace prints the file NAMESPACE.n, or nothing.
printf '%s\\n' "$*" >>"$FOLDER/calls"
case "$*" in
*' get nodes '*) cat "$FOLDER/nodes" 2>/dev/null ;;
*) n=$(grep -c "get pods -n $6 " "$FOLDER/calls"); cat "$FOLDER/$6.$n" 2>/dev/null ;;
esac
exit 0
"""


def await_gone(folder: Path, pods: list[str], **settings: str) -> subprocess.CompletedProcess[str]:
    """Run what scripts run between waves; pods are rows `NAMESPACE|POD|UID|NODE`."""
    parts = (
        files("cli.output.views.scripts").joinpath(f"{part}.sh").read_text() for part in ("frame", "ending")
    )
    script, kubectl = folder / "script.sh", folder / "kubectl"
    kubectl.write_text(_KUBECTL)
    kubectl.chmod(0o755)
    put_clock(folder)
    (folder / "gone").write_text("\n".join(pods))
    ends = 'AGAIN="planner again"; await_gone "$(cat "$FOLDER/gone")"; echo "all are gone"'
    script.write_text("\n".join(("set -u", *parts, ends)))
    path = f"{folder}:{os.environ['PATH']}"
    words = {"CONTEXT": "c", "FOLDER": str(folder), "KUBECTL": str(kubectl), "PATH": path}
    return subprocess.run(
        ["sh", str(script)], env={**words, **settings}, capture_output=True, text=True, check=False
    )


def lists(folder: Path) -> list[str]:
    """The namespaces whose pods were listed, in order."""
    return [line.split()[5] for line in (folder / "calls").read_text().splitlines() if " get pods " in line]


def test_nothing_to_wait_for(tmp_path: Path) -> None:
    """Without evicted pods nothing is asked."""
    ended = await_gone(tmp_path, [])
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "all are gone\n", "")
    assert not (tmp_path / "calls").exists()


def test_a_large_wave(tmp_path: Path) -> None:
    """Of hundreds of pods a look is one list a namespace, and none where all are gone; three are named."""
    pods = [f"{'ab'[n % 2]}|web-{n}|u{n}|n{n % 50}" for n in range(800)]
    rows = {name: "\n".join(f"{row}|30|30|" for row in pods if row[0] == name) for name in "ab"}
    (tmp_path / "a.1").write_text(rows["a"])
    for look in (1, 2, 3):
        (tmp_path / f"b.{look}").write_text(rows["b"])
    ended = await_gone(tmp_path, pods)
    assert (ended.returncode, ended.stdout) == (0, "all are gone\n")
    assert lists(tmp_path) == ["a", "b", "a", "b", "b", "b"]
    (line,) = ended.stderr.splitlines()
    assert line.startswith("waiting for 400 pods to end, for ")
    assert line.endswith(" s, at most 90 s: b/web-1 on n1, b/web-3 on n3, b/web-5 on n5, and 397 more")


def test_a_pod_is_told_by_its_uid(tmp_path: Path) -> None:
    """One with the name of an evicted pod is another; where no uid is known, name and node have to do."""
    (tmp_path / "a.1").write_text("a|db-0|u9|n0|30|30|\na|db-1|u8|n7|30|30|\na|db-2|u7|n2|30|30|\n")
    ended = await_gone(tmp_path, ["a|db-0|u0|n0", "a|db-1||n1", "a|db-2||n2"])
    assert (ended.returncode, ended.stdout) == (0, "all are gone\n")
    assert lists(tmp_path) == ["a", "a"]


def test_a_pod_of_the_same_name_is_not_waited_for(tmp_path: Path) -> None:
    """Its uid is another: one look is enough."""
    (tmp_path / "a.1").write_text("a|db-0|u9|n0|30|30|\n")
    assert await_gone(tmp_path, ["a|db-0|u0|n0"]).returncode == 0
    assert lists(tmp_path) == ["a"]


def test_a_pod_that_does_not_end(tmp_path: Path) -> None:
    """After its grace period and the margin one line names it, its node, and what holds it."""
    for look in range(1, 9):
        # A kubelet that has done its part leaves a grace period of 0: that of the spec counts on.
        (tmp_path / f"a.{look}").write_text("a|web-0|u0|n0|0|2|example.com/x example.com/y\n")
    (tmp_path / "nodes").write_text("isTrue")
    ended = await_gone(tmp_path, ["a|web-0|u0|n0"], GRACE_MARGIN="1")
    assert (ended.returncode, ended.stdout) == (1, "")
    line = ended.stderr.splitlines()[-1]
    assert line.startswith("stopped: a/web-0 on n0 is still terminating after ")
    assert line.endswith(
        " s (grace period 2 s), finalizers: example.com/x example.com/y; "
        "when it has ended start this again, or plan again: planner again"
    )
    assert 2 <= len(lists(tmp_path)) <= 5


def test_a_node_that_is_gone_or_not_ready(tmp_path: Path) -> None:
    """Where no kubelet is there to end a pod, the line says so."""
    (tmp_path / "a.1").write_text("a|web-0|u0|n0|0|0|\n")
    for found, words in (("", "its node is not there any more"), ("isUnknown", "its node is not ready")):
        (tmp_path / "calls").unlink(missing_ok=True)
        (tmp_path / "nodes").write_text(found)
        ended = await_gone(tmp_path, ["a|web-0|u0|n0"], GRACE_MARGIN="0")
        assert ended.returncode == 1
        assert f"(grace period 0 s), {words}; when it has ended" in ended.stderr


def test_pods_that_cannot_be_read(tmp_path: Path) -> None:
    """It asks again until TIMEOUT seconds have passed."""
    ended = await_gone(tmp_path, ["a|web-0|u0|n0"], TIMEOUT="2", KUBECTL="/nonexistent")
    assert ended.returncode == 1
    assert ended.stderr.startswith("stopped: the pods cannot be read: ")
