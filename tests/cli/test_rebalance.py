"""`planner rebalance` on the command line: forms, exit codes, and a script that a shell runs."""

import json
from pathlib import Path

import pytest

from cli.main import run
from tests.builders import ZONE, Object, node, pod, replica, revision, scaled, spread


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
    assert step["landing"] == "filters"
    assert plan["before"] == {"hardViolations": 1, "hardExcess": 2, "softExcess": 0, "pending": 0}
    assert plan["after"]["hardViolations"] == 0


def test_a_balanced_cluster_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No moves, exit code 0."""
    assert run(["rebalance", "-f", str(snapshot(tmp_path, "a"))]) == 0
    assert capsys.readouterr().out == "Balanced: no constraint is broken, nothing has to move.\n"


def test_a_balanced_cluster_with_pending_pods_says_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What went wrong: all was called balanced after a script whose replacement had found no node."""
    path = snapshot(tmp_path, "a")
    items = json.loads(path.read_text())["items"]
    items.append(pod("large", cpu="100", owner="ReplicaSet/web"))
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert run(["rebalance", "-f", str(path)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told == (
        "Balanced: no constraint is broken, nothing has to move; 1 pod is pending and is not counted."
    )


def test_an_empty_label_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Replacements land on nodes whose zone has no name: the column said `zone`."""
    path = snapshot(tmp_path, "a" + "b" * 12)
    path.write_text(path.read_text().replace(f'"{ZONE}": "b"', f'"{ZONE}": ""'))
    assert run(["rebalance", "-f", str(path)]) == 0
    assert ' zone "" ' in capsys.readouterr().out


def test_what_stays_broken_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 when nothing is allowed."""
    assert run(["rebalance", "-f", str(snapshot(tmp_path)), "--max-moves", "0"]) == 1
    assert "2 pods still too many in 1 domain" in capsys.readouterr().out


def test_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-o name prints the pods to evict; -o eviction, which no command could use, is no form any more."""
    path = str(snapshot(tmp_path))
    assert run(["rebalance", "-f", path, "-o", "name"]) == 0
    assert capsys.readouterr().out == "pod/w0 -n default\n"
    assert run(["rebalance", "-f", path, "-o", "eviction"]) == 2


def test_a_policy_file_protects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--policy is a DeschedulerPolicy, and anything else is refused."""
    path, policy = str(snapshot(tmp_path)), tmp_path / "policy.yaml"
    policy.write_text(
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nmaxNoOfPodsToEvictTotal: 0\n"
    )
    assert run(["rebalance", "-f", path, "--policy", str(policy)]) == 1
    assert "the DeschedulerPolicy allows in all: 0" in capsys.readouterr().err
    with policy.open("a") as file:
        file.write("maxNoOfPodsToEvict: 1\n")
    assert run(["rebalance", "-f", path, "--policy", str(policy)]) == 1
    assert 'unknown field "maxNoOfPodsToEvict", did you mean' in capsys.readouterr().err
    assert run(["rebalance", "-f", path, "--policy", path]) == 2
    assert "no DeschedulerPolicy" in " ".join(capsys.readouterr().err.split())


def test_whom_it_touches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-n, -l and --exclude: with nothing to move, the rest is another matter and the exit code 0."""
    path = tmp_path / "cluster.json"
    web = scaled("Deployment", "web", 3, spread=[spread()])
    pods = [replica(revision(web), f"w{n}", "n0", spread=[spread()]) for n in range(3)]
    other = pod("db", "n1", namespace="shop", app="db", owner="ReplicaSet/db")
    items = [node("n0", "a"), node("n1", "b"), web, revision(web), *pods, other]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    for chosen in (("-n", "default"), ("-l", "app=web")):
        assert run(["rebalance", "-f", str(path), *chosen, "-o", "name"]) == 0
        assert capsys.readouterr().out == "pod/w0 -n default\n"
    for chosen in (("-n", "shop"), ("-l", "app=db"), ("--exclude", "deploy/web")):
        assert run(["rebalance", "-f", str(path), *chosen]) == 0
        assert "left alone" in capsys.readouterr().err
    assert run(["rebalance", "-f", str(path), "--exclude", "deploy/wbe"]) == 2
    assert "there is no Deployment wbe in the cluster (did you mean web?)" in capsys.readouterr().err


def full_zone(folder: Path, owner: str) -> str:
    """Three replicas in zone a; in zone b a pod that may come straight back when it makes room."""
    web = {"app": "web", "owner": "ReplicaSet/web", "cpu": "1", "spread": [spread()]}
    items = [
        node("n0", zone="a", cpu="3"),
        node("n1", zone="b", cpu="1"),
        node("n2", cpu="1"),
        *(pod(f"w{n}", "n0", **web) for n in range(3)),
        pod("x", "n1", cpu="1", owner=owner, app="x"),
    ]
    path = folder / "full.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def test_cordons_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --may-cordon a note names it; with it the nodes are told, and the script closes them."""
    path = full_zone(tmp_path, "StatefulSet/x")
    assert run(["rebalance", "-f", path]) == 1
    assert "replacements of default StatefulSet/x would have to be pinned" in capsys.readouterr().err
    assert run(["rebalance", "-f", path, "--may-cordon"]) == 0
    told = capsys.readouterr().out
    assert "2 moves in 2 waves, none pinned, 1 with nodes cordoned" in told
    assert "default/x: n1" in told
    assert run(["rebalance", "-f", path, "--may-cordon", "-o", "script"]) == 0
    script = capsys.readouterr().out.splitlines()
    assert "    move default x '' n1 StatefulSet/x n2 cordon:n1" in script
    assert "    node n1 '' open" in script


def test_cordons_are_more_than_evictions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--may-cordon with --evict-only is refused."""
    assert run(["rebalance", "-f", full_zone(tmp_path, "StatefulSet/x"), "--may-cordon", "--evict-only"]) == 2
    assert "--may-cordon and --evict-only exclude each other" in capsys.readouterr().err
