"""`planner rebalance -o script` on a real cluster, from manifests to the end state."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.output.views.scripts.moves import lines
from cli.output.views.scripts.preflight import owner_of
from models import Cluster
from planner.documents.move_plan import Balance, MovePlan, MoveStep, OnNodes
from planner.documents.plan import Verdicts
from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import HOSTNAME, budget, node, pod, spread, workload
from tests.e2e.stories import (
    carried_out,
    carried_out_until,
    evictions,
    left_behind,
    lopsided,
    per_zone,
    planned,
    strike,
    struck_everywhere,
    too_many,
    versions,
    zone_that_came_back,
)
from tests.e2e.test_admission import create_quota


def moves(script: Path) -> int:
    """How many moves a script has."""
    return sum(line.startswith("    move ") for line in script.read_text().splitlines())


def test_a_zone_that_came_back(live: ControlPlane, tmp_path: Path) -> None:
    """99 pods of eight Deployments with budgets go back to thirds, in as many evictions as planned."""
    zone_that_came_back(live)
    script, before = planned(live, tmp_path, "rebalance"), live.get("pods")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (too_many(live), evictions(live, before), left_behind(live)) == (0, 33, [])
    assert moves(script) == 33


def test_a_pod_that_moves_again(live: ControlPlane, tmp_path: Path) -> None:
    """Its replacement is known when the waves before are done: the script says to plan again then."""
    ssd, taints = {"disk": "ssd"}, [{"key": "ssd", "effect": "NoSchedule"}]
    some: Manifest = {"nodeSelector": ssd, "tolerations": [{"key": "ssd", "operator": "Exists"}]}
    live.create(*(node(name, zone=name[0], cpu="1") for name in ("a1", "a2", "b1", "b2")))
    live.create(*(node(name, cpu="1", labels=ssd, taints=taints) for name in ("a3", "a4")))
    live.create(node("b3", zone="b", cpu="1", labels=ssd))
    for app, where in {"web": ("a1", "a2"), "api": ("b1", "b2"), "data": ("a3", "a4")}.items():
        more, rules = some if app == "data" else {}, [spread(app)]
        for name in where:
            words: Manifest = {"nodeName": name, "topologySpreadConstraints": rules, **more}
            live.create(pod(f"{app}-{name}", app, cpu="1", **words))
        live.create(workload(app, 2, *rules, kind="ReplicaSet", cpu="1", **more))
    live.at_rest(6)
    for said in ("done: 2 moves\n2 more are to be planned now: planner rebalance", "done: 2 moves\n"):
        ended = carried_out(live, planned(live, tmp_path, "rebalance"))
        assert (ended.returncode, ended.stderr) == (0, "")
        assert said in ended.stdout
    assert (too_many(live), left_behind(live)) == (0, [])


def test_a_dry_run_changes_nothing(live: ControlPlane, tmp_path: Path) -> None:
    """It says what would be done, through the API server, and no object is another afterwards."""
    lopsided(live)
    script, before = planned(live, tmp_path, "rebalance"), versions(live)
    ended = carried_out(live, script, "--dry-run")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("would go from") == 2
    assert versions(live) == before


def test_a_second_start_has_nothing_to_do(live: ControlPlane, tmp_path: Path) -> None:
    """A script that is through says so when it is started again."""
    lopsided(live)
    script = planned(live, tmp_path, "rebalance")
    assert carried_out(live, script).returncode == 0
    before = versions(live)
    again = carried_out(live, script)
    assert (again.returncode, again.stderr) == (0, "")
    assert versions(live) == before


def test_a_stateful_set(live: ControlPlane, tmp_path: Path) -> None:
    """A replacement with the name of the evicted pod is told from it by its uid."""
    live.create(node("a1"), node("a2"), workload("db", 4, spread("db"), kind="StatefulSet"))
    live.at_rest(4)
    live.create(node("b1", zone="b"))
    before = live.get("pods")
    ended = carried_out(live, planned(live, tmp_path, "rebalance", "--evict-only"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (per_zone(live, "db"), evictions(live, before)) == ({"a": 2, "b": 2}, 2)


def test_a_stateful_set_in_a_quota_that_is_newer_than_the_plan(live: ControlPlane, tmp_path: Path) -> None:
    """Its pod is not made again: the script says so in the words of the API server, by an event."""
    live.create(node("a1"), node("a2"), workload("db", 4, spread("db"), kind="StatefulSet"))
    live.at_rest(4)
    live.create(node("b1", zone="b"))
    script = planned(live, tmp_path, "rebalance", "--evict-only")
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    create_quota(live, {**quota, "spec": {"hard": {"pods": "2"}}})
    ended = carried_out(live, script, TIMEOUT="8")
    assert ended.returncode == 1
    assert "no pod is made in place of default/db-" in ended.stderr
    assert "exceeded quota: few" in ended.stderr


def test_a_budget_that_says_not_now(live: ControlPlane, tmp_path: Path) -> None:
    """An eviction that is answered 429 is tried again until the budget allows it."""
    lopsided(live)
    other = pod("other", "other")
    both = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "other"]}]}
    live.create(other, budget("web", minAvailable=4, selector=both))
    wait_for("a count of the budget", lambda: allowed(live))
    script, before = planned(live, tmp_path, "rebalance"), live.get("pods", labels="app=web")
    # A pod that is not there for a while uses the budget up.
    live.kubectl("delete", "pod", "other")
    wait_for("end of the budget", lambda: allowed(live) == 0)
    refused = "cannot go yet: Error from server (TooManyRequests)"
    ended = carried_out_until(live, script, refused, lambda: live.create(other))
    assert ended.returncode == 0, ended.stdout
    assert (too_many(live), evictions(live, before), left_behind(live)) == (0, 2, [])


def allowed(live: ControlPlane) -> int | None:
    """How many evictions the only budget allows just now."""
    found: int | None = live.get("poddisruptionbudgets")[0].get("status", {}).get("disruptionsAllowed")
    return found


def test_a_budget_that_never_allows_it(live: ControlPlane, tmp_path: Path) -> None:
    """When the time is over it stops, says why, and has changed nothing."""
    lopsided(live)
    script, before = planned(live, tmp_path, "rebalance"), live.get("pods")
    live.create(budget("web", maxUnavailable=0))
    wait_for("a count of the budget", lambda: allowed(live) == 0)
    ended = carried_out(live, script, TIMEOUT="4")
    assert ended.returncode == 1
    assert "nothing has happened for 4 seconds" in ended.stderr
    assert "plan again: planner rebalance -o script --context local" in ended.stderr
    assert evictions(live, before) == 0


def test_a_full_zone(live: ControlPlane, tmp_path: Path) -> None:
    """Another pod that could be elsewhere goes first, and only then there is room in its zone."""
    live.create(node("a1"), node("a2"), workload("web", 2, spread("web"), cpu="1"))
    live.at_rest(2)
    live.kubectl("cordon", "a1")
    live.kubectl("cordon", "a2")
    live.create(node("b1", zone="b", cpu="2"), workload("filler", 1, cpu="1500m"))
    live.at_rest(3)
    live.kubectl("uncordon", "a1")
    live.kubectl("uncordon", "a2")
    script, before = planned(live, tmp_path, "rebalance"), live.get("pods")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (per_zone(live, "web"), per_zone(live, "filler")) == ({"a": 1, "b": 1}, {"a": 1})
    assert (evictions(live, before), left_behind(live)) == (2, [])


def test_a_stranger_takes_the_room(live: ControlPlane, tmp_path: Path) -> None:
    """The replacement finds no node; the script stops and says what the cluster looks like."""
    live.create(node("a1"), node("a2"), workload("web", 4, spread("web"), cpu="1"))
    live.at_rest(4)
    live.create(node("b1", zone="b", cpu="2"))
    script = planned(live, tmp_path, "rebalance")
    live.create(pod("stranger", cpu="1500m", nodeSelector={HOSTNAME: "b1"}))
    live.at_rest(5)
    ended = carried_out(live, script, TIMEOUT="5")
    assert ended.returncode == 1
    assert "has no node: 0/3 nodes are available" in ended.stderr
    assert "ReplicaSet/web-" in ended.stderr
    assert "plan again: planner rebalance" in ended.stderr
    assert left_behind(live) == []


def test_a_replacement_that_lands_elsewhere(live: ControlPlane, tmp_path: Path) -> None:
    """A node that joins meanwhile takes the replacement; it is not in the plan's set, so the script stops."""
    lopsided(live)
    script = planned(live, tmp_path, "rebalance")
    live.create(node("c1", zone="c"))
    live.kubectl("label", "node", "b1", "topology.kubernetes.io/zone=a", "--overwrite")
    ended = carried_out(live, script)
    assert ended.returncode == 1
    assert "has landed on c1" in ended.stderr
    assert left_behind(live) == []


def test_no_rights(live: ControlPlane, tmp_path: Path) -> None:
    """A user who may not evict is refused in one line, before anything is touched."""
    lopsided(live)
    script, before = planned(live, tmp_path, "rebalance"), live.get("pods")
    live.kubectl("create", "serviceaccount", "reader")
    live.kubectl(
        "create", "clusterrolebinding", "reader", "--clusterrole=view", "--serviceaccount=default:reader"
    )
    config = json.loads(live.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = live.kubectl("create", "token", "reader").strip()
    (tmp_path / "reader").write_text(json.dumps(config))
    (tmp_path / "reader").chmod(0o600)
    ended = carried_out(live, script, KUBECONFIG=str(tmp_path / "reader"))
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "refused, nothing was changed: " in ended.stderr
    assert evictions(live, before) == 0


def test_another_cluster(start: Callable[..., ControlPlane], tmp_path: Path) -> None:
    """A script is for one cluster, told by the uid of kube-system."""
    one, other = start(), start()
    lopsided(one)
    script = planned(one, tmp_path, "rebalance")
    lopsided(other)
    before = other.get("pods")
    ended = carried_out(other, script)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "another cluster" in ended.stderr
    nowhere = carried_out(one, script, CONTEXT="elsewhere")
    assert (nowhere.returncode, nowhere.stderr.count("\n")) == (2, 1)
    assert evictions(other, before) == 0


@pytest.mark.parametrize("what", ["pod", "node", "replicas", "budget"])
def test_a_cluster_that_changed(live: ControlPlane, tmp_path: Path, what: str) -> None:
    """A pod that is gone, a cordoned node, another number of replicas, another budget: plan again."""
    lopsided(live)
    live.create(budget("web", maxUnavailable=1))
    wait_for("a count of the budget", lambda: allowed(live))
    script = planned(live, tmp_path, "rebalance")
    change(live, what, script)
    before = versions(live)
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "nothing was changed; plan again" in ended.stderr
    assert versions(live) == before


def change(live: ControlPlane, what: str, script: Path) -> None:
    """Something that a plan cannot know of."""
    match what:
        case "pod":
            planned_to_go = script.read_text()
            names = [item["metadata"]["name"] for item in live.pods()]
            live.kubectl("delete", "pod", next(n for n in names if f"move default {n}" not in planned_to_go))
        case "node":
            live.kubectl("cordon", "b1")
        case "replicas":
            live.kubectl("scale", "deployment/web", "--replicas=5")
            live.at_rest(5)
        case "budget":
            live.kubectl("patch", "pdb", "web", "-p", '{"spec":{"maxUnavailable":2}}')
    live.at_rest(5 if what == "replicas" else 4)


@pytest.mark.parametrize("pinned", [False, True], ids=["landing-by-itself", "pinned"])
def test_interrupted_in_every_place(live: ControlPlane, tmp_path: Path, pinned: bool) -> None:
    """Struck at one call of kubectl after the other, each time by another signal, it gets there."""
    if pinned:
        free(live)
    else:
        lopsided(live)
    script = pinned_moves(live, tmp_path) if pinned else planned(live, tmp_path, "rebalance")
    before = live.get("pods")
    # The first calls of kubectl only look.
    struck_everywhere(live, script, left_behind)
    assert (too_many(live), left_behind(live), evictions(live, before)) == (0, [], 2)
    assert on_b1(live) == 2


def pinned_moves(live: ControlPlane, folder: Path) -> Path:
    """A script of two moves whose replacements have to be pinned to b1; left alone they would go anywhere."""
    assert live.planner("snapshot", "-o", str(folder / "snapshot.json")).returncode == 0
    cluster = Cluster.load(folder / "snapshot.json")
    place, none = OnNodes(nodes=("b1",)), Balance(hard_violations=0, hard_excess=0, soft_excess=0, pending=0)
    steps = [
        MoveStep(
            wave=number,
            pod=found.key,
            workload="Deployment/web",
            owner=owner_of(found),
            source=found.node_name,
            node="b1",
            landing="pinned",
            lands=place,
            pin=place,
            why="for the sake of it",
        )
        for number, found in enumerate(cluster.pods[:2], start=1)
    ]
    verdicts = Verdicts(sequence=True, final_state=True)
    plan = MovePlan(
        status="Feasible", objective=(), steps=tuple(steps), before=none, after=none, verdicts=verdicts
    )
    script = folder / "script.sh"
    script.write_text("\n".join(lines(plan, cluster, "planner rebalance")))
    return script


def on_b1(live: ControlPlane) -> int:
    """How many pods run there."""
    return sum(item["spec"].get("nodeName") == "b1" for item in live.pods())


def free(live: ControlPlane) -> None:
    """Four pods without constraints on one node, and more nodes than one that would take them."""
    affinity: Manifest = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    live.create(node("a1"), workload("web", 4, affinity=affinity))
    live.at_rest(4)
    live.create(node("b1"), node("c1"), node("d1"))


def test_a_pin(live: ControlPlane, tmp_path: Path) -> None:
    """The template is narrowed for just so long; nothing is rolled out, and it is as it was afterwards."""
    free(live)
    script, before = pinned_moves(live, tmp_path), live.get("pods")
    templates = [item["spec"]["template"] for item in live.get("replicasets,deployments")]
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (on_b1(live), evictions(live, before), left_behind(live)) == (2, 2, [])
    assert [item["spec"]["template"] for item in live.get("replicasets,deployments")] == templates
    assert len(live.get("replicasets")) == 1


def test_a_pin_that_leads_nowhere(live: ControlPlane, tmp_path: Path) -> None:
    """When the pinned node takes no pod, the replacement is let go, and finds another node unpinned."""
    free(live)
    script = pinned_moves(live, tmp_path)
    live.create(pod("stranger", cpu="3950m", nodeSelector={HOSTNAME: "b1"}))
    live.at_rest(5)
    ended = carried_out(live, script, TIMEOUT="4")
    assert ended.returncode == 1
    assert "has no node" in ended.stderr
    assert left_behind(live) == []
    live.at_rest(5)


def test_a_lost_terminal(live: ControlPlane, tmp_path: Path) -> None:
    """When the terminal goes away in the middle, everything is put back, and a second start goes on."""
    lopsided(live, annotations={"stand-in/ready-after": "2"})
    script, before = planned(live, tmp_path, "rebalance"), live.get("pods")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("sh", ["sh", str(script)], live.environment)
    wait_for("eviction", lambda: evictions(live, before))
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGHUP
    assert left_behind(live) == []
    assert carried_out(live, script).returncode == 0
    assert (too_many(live), evictions(live, before)) == (0, 2)


def test_wave_by_wave(live: ControlPlane, tmp_path: Path) -> None:
    """The loop of docs/scripts.md: plan a wave, carry it out, until nothing is left to plan."""
    lopsided(live)
    before = live.get("pods")
    text = (Path(__file__).parents[2] / "docs/scripts.md").read_text()
    [loop] = [block for block in re.findall(r"```sh\n(.*?)```", text, re.S) if "until planner" in block]
    command = tmp_path / "planner"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from cli.main import main; main()" "$@"\n')
    command.chmod(0o755)
    path = f"{tmp_path}:{live.environment['PATH']}"
    ended = subprocess.run(
        ["sh", "-c", loop],
        cwd=tmp_path,
        env={**live.environment, "PATH": path, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, too_many(live), evictions(live, before)) == (0, 0, 2), ended.stderr
    assert ended.stdout.count("done: 1 move") == 2


def test_what_was_not_ready_before_is_not_waited_for(live: ControlPlane, tmp_path: Path) -> None:
    """No pod of the workload ever becomes ready: the script waited for the first replacement, and stopped.

    Nor is it waited for when the script was struck on its way, and is started again.
    """
    live.create(node("a1"), node("a2"))
    live.create(workload("web", 4, spread("web"), annotations={"stand-in/never-ready": ""}))
    wait_for("four pods in zone a", lambda: per_zone(live, "web") == {"a": 4})
    live.create(node("b1", zone="b"))
    script = planned(live, tmp_path, "rebalance")
    assert strike(live, script, "TERM", 8, "after").returncode in {-15, 143}
    assert left_behind(live) == []
    ended = carried_out(live, script, TIMEOUT="20")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (per_zone(live, "web"), left_behind(live)) == ({"a": 2, "b": 2}, [])
