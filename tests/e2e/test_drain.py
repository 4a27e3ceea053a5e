"""`planner drain` on a real cluster: what it foresees comes about, and its script carries it out."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import builders
from tests.builders import REQUIRED
from tests.e2e.control_plane import ControlPlane, Manifest
from tests.e2e.manifests import HOSTNAME, ZONE, budget, node, pod, workload
from tests.e2e.stories import carried_out, carried_out_until, per_zone, planned, strike

MARK = "planner/drain"


def pool(live: ControlPlane, replicas: int = 6, **budgets: int | str) -> None:
    """A Deployment under a budget on two nodes of an old pool; a new one is there and empty."""
    old = [node("old1"), node("old2")]
    for item in old:
        item["metadata"]["labels"]["pool"] = "old"
    live.create(*old, workload("web", replicas), budget("web", **(budgets or {"maxUnavailable": 1})))
    live.at_rest(replicas)
    live.create(node("new1"), node("new2"))


def cordoned(live: ControlPlane) -> dict[str, str | None]:
    """The nodes that are cordoned, with what is noted on them."""
    return {
        item["metadata"]["name"]: item["metadata"].get("annotations", {}).get(MARK)
        for item in live.get("nodes")
        if item["spec"].get("unschedulable")
    }


def where(live: ControlPlane) -> set[str]:
    """The nodes that pods are on."""
    return {item["spec"].get("nodeName", "") for item in live.pods()}


def test_a_pool_is_drained(live: ControlPlane, tmp_path: Path) -> None:
    """Every pod is made again on the new nodes, the old ones are empty and cordoned, nothing else is left."""
    pool(live)
    script = planned(live, tmp_path, "drain", "pool=old", "--at-once", "2")
    dry = carried_out(live, script, "--dry-run")
    assert (dry.returncode, dry.stderr, cordoned(live)) == (0, "", {})
    assert "6 pods would go from 2 nodes" in dry.stdout
    assert where(live) == {"old1", "old2"}
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(6)
    assert (where(live), cordoned(live)) == ({"new1", "new2"}, {"old1": None, "old2": None})


def test_a_script_that_is_struck_goes_on(live: ControlPlane, tmp_path: Path) -> None:
    """A node that is not empty is open again; started once more, it comes to its end."""
    pool(live)
    script = planned(live, tmp_path, "drain", "old1", "old2")
    assert strike(live, script, "TERM", 10, "after").returncode == -15
    assert cordoned(live) == {}
    assert strike(live, script, "KILL", 14, "after").returncode == -9
    assert set(cordoned(live).values()) == {"was:open"}
    for at in (14, 18):
        assert strike(live, script, "TERM", at, "after").returncode == 143
        busy = where(live)
        assert not busy & set(cordoned(live)), f"struck at call {at}"
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(6)
    assert (where(live), cordoned(live)) == ({"new1", "new2"}, {"old1": None, "old2": None})


def test_struck_when_all_is_done(live: ControlPlane, tmp_path: Path) -> None:
    """The marks on the empty nodes go last: struck there it ended without a word, as if it were not done."""
    pool(live)
    script = planned(live, tmp_path, "drain", "old1", "old2")
    assert carried_out(live, script).returncode == 0
    for when in ("never", "before", "after"):
        # As if it had been killed right before.
        live.kubectl("annotate", "nodes", "old1", "old2", f"{MARK}=was:open")
        last = 0 if when == "never" else int(script.with_name("counter").read_text())
        ended = strike(live, script, "TERM", last, when)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "done: 2 nodes are empty, and cordoned" in ended.stdout
        assert cordoned(live) == {"old1": None, "old2": None}


def test_a_cluster_that_changed(live: ControlPlane, tmp_path: Path) -> None:
    """A pod that has come since, or a node that is cordoned now: plan again, and nothing is touched."""
    pool(live)
    script = planned(live, tmp_path, "drain", "old1")
    live.create(pod("late", nodeName="old1"))
    live.at_rest(7)
    ended = carried_out(live, script)
    assert (ended.returncode, cordoned(live)) == (1, {})
    assert "default/late is new on old1" in ended.stderr
    live.kubectl("delete", "pod", "late")
    live.at_rest(6)
    live.kubectl("cordon", "old1")
    ended = carried_out(live, script)
    assert (ended.returncode, cordoned(live)) == (1, {"old1": None})
    assert "node old1 is cordoned; nothing was changed" in ended.stderr


def test_who_tolerates_the_cordon_comes_back(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: the script took the replacement for a stranger and gave up, half-way.

    Struck when it is back, and started again, it comes to its end.
    """
    tolerations = [{"operator": "Exists"}]
    agent = workload("agent", 1, nodeSelector={HOSTNAME: "old1"}, tolerations=tolerations)
    live.create(node("old1"), agent, workload("web", 2))
    live.at_rest(3)
    live.create(node("new1"))
    (first,) = live.pods(labels="app=agent")
    script = planned(live, tmp_path, "drain", "old1")
    assert strike(live, script, "KILL", 15, "after").returncode == -9
    live.at_rest(3)
    assert live.pods(labels="app=agent")[0]["metadata"]["uid"] != first["metadata"]["uid"]
    assert cordoned(live) == {"old1": "was:open"}
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("and cordoned, but for pods that tolerate that: 1\n")
    live.at_rest(3)
    assert (where(live), cordoned(live)) == ({"old1", "new1"}, {"old1": None})
    assert {item["spec"]["nodeName"] for item in live.pods(labels="app=web")} == {"new1"}


def test_new_nodes_first(live: ControlPlane, tmp_path: Path) -> None:
    """As pool upgrades do: the script waits for none of them, it says that the new node is not there yet."""
    live.create(node("old1"), workload("web", 2))
    live.at_rest(2)
    script = planned(live, tmp_path, "drain", "old1", "--surge", "1")
    ended = carried_out(live, script)
    assert (ended.returncode, cordoned(live)) == (1, {})
    live.create(node("old1-1"))
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(2)
    assert where(live) == {"old1-1"}


def test_a_budget_that_blocks_is_foreseen(live: ControlPlane) -> None:
    """The API refuses with the very line that the plan has, and the replica more that it names helps."""
    pool(live, replicas=2, minAvailable=2)
    ended = live.planner("drain", "old1", "old2", "-o", "json")
    plan = json.loads(ended.stdout)
    (row,) = plan["blocked"][:1]
    body = {"apiVersion": "policy/v1", "kind": "Eviction"}
    namespace, _, name = row["pod"].partition("/")
    body |= {"metadata": {"name": name, "namespace": namespace}}  # type: ignore[dict-item]
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
    refused = live.run("kubectl", "create", "--raw", path, "-f", "-", given=json.dumps(body))
    assert refused.returncode == 1
    assert row["message"].partition(" The ")[0] in refused.stderr
    assert live.planner("drain", "old1", "-o", "script").returncode == 2
    commands = [
        change["command"] for fix in row["fixes"] for change in fix["changes"] if change.get("command")
    ]
    live.kubectl(*commands[0].split()[1:])
    live.at_rest(3)
    assert not json.loads(live.planner("drain", "old1", "old2", "-o", "json").stdout)["blocked"]
    assert per_zone(live, "web")["a"] == 3


@pytest.mark.parametrize(("kind", "place"), [("StatefulSet", "a2"), ("ReplicaSet", "b1")])
def test_a_pod_of_a_stateful_set_is_made_when_the_old_one_has_ended(
    live: ControlPlane, kind: str, place: str
) -> None:
    """Until then its anti-affinity would keep it out of the zone, and the emptier node is there."""
    apart = {"podAntiAffinity": {REQUIRED: [builders.term(ZONE, "web")]}}
    lingers: Manifest = {"annotations": {"stand-in/linger": "3"}, "terminationGracePeriodSeconds": 30}
    live.create(node("a1"), workload("web", 1, kind=kind, affinity=apart, **lingers))
    live.at_rest(1)
    live.create(node("a2"), node("b1", zone="b"), pod("filler", cpu="3", nodeName="b1"))
    live.at_rest(2)
    foreseen = json.loads(live.planner("drain", "a1", "-o", "json").stdout)
    live.kubectl("drain", "a1")
    live.at_rest(2)
    (after,) = live.pods(labels="app=web")
    (evicted,) = (row for step in foreseen["steps"] for row in step["evictions"])
    assert after["spec"]["nodeName"] == evicted["lands"] == place


def test_a_pod_of_a_higher_priority_takes_the_room(live: ControlPlane, tmp_path: Path) -> None:
    """The script stopped without a word of why pods have no node, nor that the empty node stays cordoned."""
    web = workload("web", 4, cpu="1", annotations={"stand-in/ready-after": "2"})
    live.create(node("a1"), node("a2"), web)
    live.at_rest(4)
    live.create(node("b1"))
    script = planned(live, tmp_path, "drain", "a1", "a2")
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    vip = pod("vip", cpu="3500m", nodeSelector={HOSTNAME: "b1"}, priorityClassName="high")
    ended = carried_out_until(live, script, "evicted", lambda: live.create(high, vip), TIMEOUT="20")
    assert ended.returncode == 1
    waiting, told = ended.stdout.split("stopped: nothing has happened for 20 seconds: ")
    line = "has no node, and 1 more of ReplicaSet/web-"
    assert waiting.count(line) == 2
    assert "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable." in waiting
    opened = told.splitlines()[-1].partition("what is empty stays cordoned; it is opened by: ")[2]
    assert set(cordoned(live)) == {"a1"}
    subprocess.run(["sh", "-c", opened], env=live.environment, check=True)
    assert cordoned(live) == {}
    assert not any("planner/drain" in item["metadata"].get("annotations", {}) for item in live.get("nodes"))
