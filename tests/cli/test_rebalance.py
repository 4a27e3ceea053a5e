"""`planner rebalance` on the command line: forms, exit codes, and a script that a shell runs."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from cli.main import run
from tests.builders import Object, node, pod, spread

FAKE_KUBECTL = r"""#!/bin/sh
# A cluster of one workload in a file: uid|name|node, one line for each pod.
case "$1 $2" in
"get pods") awk -F'|' '{ print "ReplicaSet/web|" $0 }' "$CLUSTER" ;;
"get pod") awk -F'|' -v name="$3" '$2 == name { printf "%s", $3 }' "$CLUSTER" ;;
"create --raw")
    cat >> "$CLUSTER.evictions"
    name=$(printf '%s' "$3" | cut -d/ -f7)
    grep -v "|$name|" "$CLUSTER" > "$CLUSTER.new"
    echo "new-$name|$name-again|$LANDS_ON" >> "$CLUSTER.new"
    mv "$CLUSTER.new" "$CLUSTER"
    ;;
"patch "*) echo "$*" >> "$CLUSTER.patches" ;;
"wait "*) ;;
esac
"""


def snapshot(folder: Path, zones: str = "ab", spread_by: Object | None = None) -> Path:
    """A file with three replicas on the first of some nodes."""
    pods = [
        pod(f"w{n}", "n0", app="web", owner="ReplicaSet/web", cpu="1", spread=[spread_by or spread()])
        for n in range(3)
    ]
    nodes = [node(f"n{number}", zone=zone) for number, zone in enumerate(zones)]
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}))
    return path


def test_json_has_the_contracts_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Steps with wave, pod, from, node and landing; before and after."""
    assert run(["rebalance", "-f", str(snapshot(tmp_path)), "-o", "json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["kind"] == "MovePlan"
    step = plan["steps"][0]
    assert (step["wave"], step["pod"], step["from"], step["node"]) == (1, "default/w0", "n0", "n1")
    assert step["landing"] == "scores"
    assert plan["before"] == {"hardViolations": 1, "hardExcess": 2, "softExcess": 0, "pending": 0}
    assert plan["after"]["hardViolations"] == 0


def test_a_balanced_cluster_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No moves, exit code 0."""
    assert run(["rebalance", "-f", str(snapshot(tmp_path, "a"))]) == 0
    assert capsys.readouterr().out == "Balanced: no hard constraint is broken, nothing has to move.\n"


def test_what_stays_broken_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 when nothing is allowed."""
    assert run(["rebalance", "-f", str(snapshot(tmp_path)), "--max-moves", "0"]) == 1
    assert "2 pods still too many in 1 domain" in capsys.readouterr().out


def test_evictions_are_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-o eviction prints policy/v1 Evictions, -o name the pods."""
    path = str(snapshot(tmp_path))
    assert run(["rebalance", "-f", path, "-o", "eviction"]) == 0
    assert capsys.readouterr().out.splitlines()[2:4] == ["apiVersion: policy/v1", "kind: Eviction"]
    assert run(["rebalance", "-f", path, "-o", "name"]) == 0
    assert capsys.readouterr().out == "pod/default/w0\n"


def test_a_policy_file_protects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--policy is a DeschedulerPolicy, and anything else is refused."""
    path, policy = str(snapshot(tmp_path)), tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nmaxNoOfPodsToEvictTotal: 0\n"
    )
    assert run(["rebalance", "-f", path, "--policy", str(policy)]) == 1
    assert "allows 0 evictions" in capsys.readouterr().err
    assert run(["rebalance", "-f", path, "--policy", path]) == 2
    assert "no DeschedulerPolicy" in capsys.readouterr().err


def play(folder: Path, script: str, lands_on: str) -> subprocess.CompletedProcess[str]:
    """Run a script against the fake cluster, in which replacements land on one node."""
    kubectl, state = folder / "kubectl", folder / "state"
    kubectl.write_text(FAKE_KUBECTL)
    kubectl.chmod(0o755)
    state.write_text("".join(f"u{n}|w{n}|n0\n" for n in range(3)))
    words = {
        **os.environ,
        "KUBECTL": str(kubectl),
        "CLUSTER": str(state),
        "LANDS_ON": lands_on,
        "TIMEOUT": "3",
    }
    return subprocess.run(["sh", "-c", script], env=words, text=True, capture_output=True, check=False)


def test_the_script_moves_and_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Evictions go through the API; the script ends well when the replacement is where it was planned."""
    assert run(["rebalance", "-f", str(snapshot(tmp_path)), "-o", "script"]) == 0
    script = capsys.readouterr().out
    ended = play(tmp_path, script, "n1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == "done"
    sent = json.loads((tmp_path / "state.evictions").read_text())
    assert (sent["kind"], sent["metadata"]) == ("Eviction", {"name": "w0", "namespace": "default"})


def test_the_script_stops_when_a_pod_lands_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that lands on another node ends the script, which says so."""
    assert run(["rebalance", "-f", str(snapshot(tmp_path)), "-o", "script"]) == 0
    ended = play(tmp_path, capsys.readouterr().out, "n0")
    assert ended.returncode == 1
    assert "landed on n0, planned was n1" in ended.stderr


def test_the_script_pins_and_puts_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pin is a nodeSelector in the ReplicaSet's template, gone again when the script ends."""
    assert run(["rebalance", "-f", str(snapshot(tmp_path, "abb")), "-o", "script"]) == 0
    script = capsys.readouterr().out
    assert "pin default ReplicaSet/web" in script
    ended = play(tmp_path, script, "n1")
    assert (ended.returncode, ended.stderr) == (0, "")
    patches = (tmp_path / "state.patches").read_text().splitlines()
    assert ['"n1"' in line for line in patches] == [True, False]
    assert ["null" in line for line in patches] == [False, True]
