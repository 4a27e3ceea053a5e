"""`planner rebalance --may-cordon -o script` on a real cluster: nodes are closed, and open again."""

import json
from pathlib import Path

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import ZONE, node, spread, workload
from tests.e2e.stories import (
    carried_out,
    evictions,
    left_behind,
    per_zone,
    planned,
    strike,
    struck_everywhere,
    too_many,
    versions,
)

WORDS = ("rebalance", "--may-cordon")
MARK = "planner/cordoned-for"


def homesick(live: ControlPlane) -> None:
    """Two replicas in zone a; a StatefulSet's pod takes the room in zone b, and would come back to it."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": term}]}
    live.create(node("a1"), node("a2"), workload("web", 2, spread("web"), cpu="1"))
    live.at_rest(2)
    filler = workload("filler", 1, kind="StatefulSet", cpu="1500m", affinity={"nodeAffinity": preferred})
    live.create(node("b1", zone="b", cpu="2"), filler)
    live.at_rest(3)
    assert per_zone(live, "filler") == {"b": 1}
    assert per_zone(live, "web") == {"a": 2}


def is_done(live: ControlPlane, before: list[Manifest]) -> None:
    """Both have moved, once each, and every node is open."""
    assert (per_zone(live, "web"), per_zone(live, "filler")) == ({"a": 1, "b": 1}, {"a": 1})
    assert (too_many(live), evictions(live, before), left_behind(live)) == (0, 2, [])


def test_a_stateful_set_makes_room(live: ControlPlane, tmp_path: Path) -> None:
    """Its node is cordoned until the replacement runs elsewhere; without the flag nothing is moved."""
    homesick(live)
    before = live.get("pods")
    ended = live.planner("rebalance", "-o", "json")
    plan = json.loads(ended.stdout)
    assert plan["steps"] == []
    assert any(note.endswith("meanwhile it cordons b1 for default/filler-0") for note in plan["notes"])
    ended = carried_out(live, planned(live, tmp_path, *WORDS))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "b1 is cordoned until the replacement of default/filler-0 has landed" in ended.stdout
    assert "open again: b1" in ended.stdout
    is_done(live, before)


def test_a_dry_run_cordons_nothing(live: ControlPlane, tmp_path: Path) -> None:
    """No object is another afterwards."""
    homesick(live)
    script, before = planned(live, tmp_path, *WORDS), versions(live)
    ended = carried_out(live, script, "--dry-run")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("would go from") == 2
    assert versions(live) == before


def test_interrupted_in_every_place(live: ControlPlane, tmp_path: Path) -> None:
    """Struck at one call of kubectl after the other, each time by another signal, it gets there."""
    homesick(live)
    script, before = planned(live, tmp_path, *WORDS), live.get("pods")
    struck_everywhere(live, script, left_behind)
    is_done(live, before)


def test_killed_while_a_node_is_cordoned(live: ControlPlane, tmp_path: Path) -> None:
    """After one call of kubectl after the other: the next start goes on, or opens the node."""
    homesick(live)
    script, before = planned(live, tmp_path, *WORDS), live.get("pods")
    marked = 0
    for at in range(4, 80):
        code = strike(live, script, "KILL", at, "after").returncode
        marked += "Node/b1" in left_behind(live)
        if code == 0:
            break
    assert marked > 1
    is_done(live, before)


def test_what_was_left_is_found_by_any_other_script(live: ControlPlane, tmp_path: Path) -> None:
    """Even by one that has nothing to move; what was cordoned otherwise stays so."""
    live.create(node("a1"), node("b1", zone="b"), node("c1", zone="c"), workload("web", 2, spread("web")))
    live.at_rest(2)
    live.kubectl("cordon", "c1")
    live.kubectl("annotate", "node", "b1", f"{MARK}=default/filler-0")
    live.kubectl("cordon", "b1")
    script = planned(live, tmp_path, "rebalance")
    live.kubectl("get", "nodes")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "b1 was still cordoned by another script; put back" in ended.stdout
    assert left_behind(live) == ["Node/c1"]


def test_without_the_right_to_cordon(live: ControlPlane, tmp_path: Path) -> None:
    """Refused in one line, before anything is touched."""
    homesick(live)
    script, before = planned(live, tmp_path, *WORDS), versions(live)
    live.kubectl("create", "serviceaccount", "mover")
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "mover"},
        "rules": [
            {"apiGroups": [""], "resources": ["pods", "nodes", "namespaces"], "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        ],
    }
    live.create(role)
    words = ("clusterrolebinding", "mover", "--clusterrole=mover", "--serviceaccount=default:mover")
    live.kubectl("create", *words)
    config = json.loads(live.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = live.kubectl("create", "token", "mover").strip()
    (tmp_path / "mover").write_text(json.dumps(config))
    (tmp_path / "mover").chmod(0o600)
    may = ("kubectl", "--kubeconfig", str(tmp_path / "mover"), "auth", "can-i")
    wait_for(
        "the rights", lambda: live.run(*may, "create", "pods", "--subresource=eviction", "-A").returncode == 0
    )
    ended = carried_out(live, script, KUBECONFIG=str(tmp_path / "mover"))
    assert (ended.returncode, ended.stderr) == (
        2,
        "refused, nothing was changed: this user may not patch nodes\n",
    )
    assert versions(live) == before
