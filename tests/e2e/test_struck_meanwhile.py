"""What happens to a cluster in the middle of a script, which comes to its end all the same."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.control_plane import ControlPlane, wait_for
from tests.e2e.manifests import node, spread, workload
from tests.e2e.stories import (
    carried_out,
    carried_out_beside,
    carried_out_until,
    evictions,
    left_behind,
    lopsided,
    planned,
)
from tests.e2e.test_rebalance import free, pinned_moves
from tests.e2e.unsteady import Way, unsteady

Gap = Callable[[Way], None]
_GAPS: dict[str, Gap] = {
    "refused": lambda way: way.refuse(4),
    "no answer": lambda way: way.say_nothing(4),
}
_SLOWLY = {"stand-in/ready-after": "1"}


@pytest.fixture(params=_GAPS)
def gap(request: pytest.FixtureRequest) -> Gap:
    """How the API server is away for a moment."""
    return _GAPS[request.param]


def _cordoned(live: ControlPlane) -> set[str]:
    return {item["metadata"]["name"] for item in live.get("nodes") if item["spec"].get("unschedulable")}


def test_a_drain_while_the_api_server_is_away(live: ControlPlane, tmp_path: Path, gap: Gap) -> None:
    """It goes on, evicts what was planned and no more, and is done when all are ready elsewhere."""
    live.create(node("a1"), node("a2"), workload("web", 4, annotations=_SLOWLY))
    before = live.at_rest(4)
    live.create(node("b1"))
    script = planned(live, tmp_path, "drain", "a1", "a2")
    with unsteady(live) as (away, way):
        ended = carried_out_beside(away, script, "evicted", lambda: gap(way))
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "done: 2 nodes are empty, and cordoned")
    assert (len(live.at_rest(4)), evictions(live, before), _cordoned(live)) == (4, 4, {"a1", "a2"})


def test_moves_while_the_api_server_is_away(live: ControlPlane, tmp_path: Path, gap: Gap) -> None:
    """Two moves were planned, and two are made."""
    lopsided(live, annotations=_SLOWLY)
    before = live.get("pods")
    script = planned(live, tmp_path, "rebalance")
    with unsteady(live) as (away, way):
        ended = carried_out_beside(away, script, "evicted", lambda: gap(way))
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "done: 2 moves")
    assert (len(live.at_rest(4)), evictions(live, before), left_behind(live)) == (4, 2, [])


def test_a_pin_comes_off_although_the_api_server_is_away(
    live: ControlPlane, tmp_path: Path, gap: Gap
) -> None:
    """The ReplicaSet stayed pinned and its Deployment paused until the script was started again."""
    free(live)
    before = live.get("pods")
    script = pinned_moves(live, tmp_path)
    with unsteady(live) as (away, way):
        ended = carried_out_beside(away, script, " has landed on ", lambda: gap(way))
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "done: 2 moves")
    assert (evictions(live, before), left_behind(live), len(live.get("replicasets"))) == (2, [], 1)


@contextmanager
def halted(live: ControlPlane, program: str) -> Iterator[None]:
    """A program of the control plane does nothing meanwhile."""
    told = (live.kubeconfig.parent / "pids").read_text().split()
    number = int(told[told.index(program) - 1])
    os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(number, signal.SIGCONT)


def test_a_drain_while_no_controller_is_at_work(live: ControlPlane, tmp_path: Path) -> None:
    """All pods were evicted, wave by wave, and it was done: the status still said that all are ready."""
    live.create(node("a1"), node("a2"), workload("web", 4))
    before = live.at_rest(4)
    live.create(node("b1"))
    script = planned(live, tmp_path, "drain", "a1", "a2")
    with halted(live, "kube-controller-manager"):
        ended = carried_out(live, script, TIMEOUT="4")
    assert (ended.returncode, evictions(live, before)) == (1, 2)
    assert "ReplicaSet/web-" in ended.stderr
    assert " 2 of 4 ready; plan again" in ended.stderr
    live.at_rest(4)
    ended = carried_out(live, script)
    assert (ended.returncode, evictions(live, before), _cordoned(live)) == (0, 4, {"a1", "a2"})


def test_daemon_pods_on_a_node_that_is_lost(live: ControlPlane, tmp_path: Path) -> None:
    """Its kubelet is gone in the middle of the drain: they never end, and are not waited for."""
    agent = workload("agent", 0, kind="DaemonSet", annotations={"stand-in/linger": "600"})
    del agent["spec"]["replicas"]
    agent["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    live.create(node("a1"), node("a2"), agent, workload("web", 4, annotations=_SLOWLY))
    live.at_rest(6)
    live.create(node("b1"))
    live.at_rest(7)
    script = planned(live, tmp_path, "drain", "a1", "a2")

    def lose() -> None:
        away = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        live.kubectl("patch", "node", "a1", "--subresource=status", "-p", json.dumps(away))
        live.kubectl("taint", "node", "a1", "node.kubernetes.io/unreachable:NoExecute")
        live.kubectl("delete", "pods", "-l", "app=agent", "--field-selector=spec.nodeName=a1", "--wait=false")

    ended = carried_out_until(live, script, "wave 2 of 2", lose)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "done: 2 nodes are empty, and cordoned")
    left = {
        item["metadata"]["labels"]["app"]
        for item in live.get("pods")
        if item["spec"]["nodeName"] in {"a1", "a2"}
    }
    assert (left, _cordoned(live)) == ({"agent"}, {"a1", "a2"})


def test_scaled_down_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """No pod is made in place of the one that was evicted: it waited for it until the time was over."""
    lopsided(live, annotations={"stand-in/ready-after": "3"})
    script = planned(live, tmp_path, "rebalance")
    with halted(live, "kube-controller-manager"):
        (owner,) = live.get("replicasets")
        less = json.dumps({"spec": {"replicas": 3}})

        def scale() -> None:
            live.kubectl("patch", "replicaset", owner["metadata"]["name"], "--type=merge", "-p", less)

        ended = carried_out_until(live, script, "evicted", scale)
    assert ended.returncode == 1
    assert "in default has 3 replicas by now: no pod is made in place of default/web-" in ended.stdout
    assert left_behind(live) == []


def test_nothing_is_pinned_before_the_pause_is_seen(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: back at work, the controller could see the pin first, and roll all pods out."""
    free(live)
    script, before = pinned_moves(live, tmp_path), live.get("pods")
    with halted(live, "kube-controller-manager"):
        ended = carried_out(live, script)
    assert ended.returncode == 1
    assert (
        "the controller of deployment web in default does not see that it is paused; plan again"
        in ended.stderr
    )
    live.at_rest(4)
    assert (evictions(live, before), left_behind(live), len(live.get("replicasets"))) == (0, [], 1)
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr, left_behind(live)) == (0, "", [])


def test_a_deployment_that_is_resumed_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """It rolls out, as it was paused for the pin: the script says so, and nothing is left of it."""
    free(live)
    script = pinned_moves(live, tmp_path)
    ended = carried_out_until(
        live, script, "pinned", lambda: live.kubectl("rollout", "resume", "deployment/web")
    )
    assert ended.returncode == 1
    line = "  deployment web in default was paused for this, and another user has resumed it: it rolls out"
    assert line in ended.stdout.splitlines()
    live.at_rest(4)
    assert left_behind(live) == []


def test_a_rollout_that_begins_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: the next move paused the Deployment once more, in the middle of its rollout."""
    free(live)
    surge = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
    live.kubectl("patch", "deployment/web", "-p", json.dumps({"spec": surge}))
    live.at_rest(4)
    script = pinned_moves(live, tmp_path)
    never = {"stand-in/never-ready": ""}
    change = json.dumps({"spec": {"template": {"metadata": {"annotations": never}}}})
    ended = carried_out_until(
        live, script, "evicted", lambda: live.kubectl("patch", "deployment/web", "-p", change)
    )
    assert ended.returncode == 1, ended
    assert "stopped: deployment web in default has begun to roll out; plan again: " in ended.stdout
    assert ended.stdout.count("are pinned until") == 1
    wait_for("a new pod", lambda: live.get("deployments")[0]["status"].get("updatedReplicas") == 1)
    assert left_behind(live) == []


def test_the_node_of_a_replacement_is_lost(live: ControlPlane, tmp_path: Path) -> None:
    """It was waited for until the time was over; now it ends and says why, and goes on when it is back."""
    lopsided(live, annotations={"stand-in/ready-after": "30"})
    script = planned(live, tmp_path, "rebalance")
    taint = "node.kubernetes.io/unreachable:NoSchedule"
    ended = carried_out_until(live, script, "has landed", lambda: live.kubectl("taint", "node", "b1", taint))
    assert ended.returncode == 1
    assert " does not become ready: its node b1 is not ready; plan again: " in ended.stdout
    live.kubectl("taint", "node", "b1", f"{taint}-")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr, left_behind(live)) == (0, "", [])


def test_the_node_of_a_replacement_is_lost_in_a_drain(live: ControlPlane, tmp_path: Path) -> None:
    """It was waited for until the time was over; now it ends, says why, and opens what is not empty."""
    live.create(node("a1"), node("a2"), workload("web", 4, annotations={"stand-in/ready-after": "20"}))
    live.at_rest(4)
    live.create(node("b1"))
    script = planned(live, tmp_path, "drain", "a1", "a2")
    taint = "node.kubernetes.io/unreachable:NoSchedule"

    def lose() -> None:
        wait_for("both replacements", lambda: len(live.pods(fields="spec.nodeName=b1")) == 2)
        live.kubectl("taint", "node", "b1", taint)

    ended = carried_out_beside(live, script, "evicted", lose)
    assert ended.returncode == 1
    assert " does not become ready: its node b1 is not ready" in ended.stdout
    assert len(_cordoned(live)) == 1
    live.kubectl("taint", "node", "b1", f"{taint}-")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr, _cordoned(live)) == (0, "", {"a1", "a2"})


def test_a_node_with_pods_that_stay_is_deleted(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: all moves were made, and it said so, while pods that were to stay ran nowhere."""
    web = workload(
        "web", 2, spread("web"), annotations={"stand-in/linger": "4"}, terminationGracePeriodSeconds=10
    )
    live.create(node("a1"), node("a2"), web)
    where = {item["metadata"]["name"]: item["spec"]["nodeName"] for item in live.at_rest(2)}
    live.create(node("b1", zone="b"))
    script = planned(live, tmp_path, "rebalance")
    (stays,) = (name for name in where if f"move default {name} " not in script.read_text())
    kept = where[stays]
    ended = carried_out_until(
        live, script, "waiting for 1 pod to end", lambda: live.kubectl("delete", "node", kept)
    )
    assert ended.returncode == 1
    last = f"stopped: default/{stays} is on {kept}, which is not there any more; plan again: "
    assert ended.stdout.splitlines()[-1].startswith(last)
