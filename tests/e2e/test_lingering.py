"""Pods that take their grace period: what comes next waits until they are gone, by their uids, and no longer
than their grace period and a margin."""

import json
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.contact_record import Recorder
from tests.e2e.control_plane import ControlPlane, wait_for
from tests.e2e.manifests import node, pod, spread, workload
from tests.e2e.stories import (
    carried_out,
    carried_out_beside,
    carried_out_until,
    evictions,
    left_behind,
    lopsided,
    per_zone,
    planned,
    struck,
    too_many,
)
from tests.e2e.test_drain import cordoned, where

GATES = [{"name": "example.com/batch"}]
HELD = '{"metadata":{"finalizers":["example.com/keep"]}}'
RELEASED = '{"metadata":{"finalizers":null}}'


def lingering(seconds: int) -> dict[str, str]:
    """The annotation of pods that stay so long when they are deleted."""
    return {"stand-in/linger": str(seconds)}


def full_zone(live: ControlPlane, linger: int, grace: int) -> None:
    """One of two pods in zone a belongs to zone b, where a pod that lingers has to make room first."""
    live.create(node("a1"), node("a2"), workload("web", 2, spread("web"), cpu="1"))
    live.at_rest(2)
    live.kubectl("cordon", "a1")
    live.kubectl("cordon", "a2")
    slow = workload(
        "filler", 1, cpu="1500m", annotations=lingering(linger), terminationGracePeriodSeconds=grace
    )
    live.create(node("b1", zone="b", cpu="2"), slow)
    live.at_rest(3)
    live.kubectl("uncordon", "a1")
    live.kubectl("uncordon", "a2")


def old_pool(live: ControlPlane, linger: int, grace: int) -> None:
    """Four pods that linger, on two nodes that are to be drained, and new nodes."""
    slow = workload("web", 4, annotations=lingering(linger), terminationGracePeriodSeconds=grace)
    live.create(node("old1"), node("old2"), slow)
    live.at_rest(4)
    live.create(node("new1"), node("new2"))


def waves(script: Path) -> list[set[str]]:
    """The uids of the pods that each wave of a script evicts; in a batch every eviction is one."""
    found: list[set[str]] = []
    for line in script.read_text().partition("\nplan() {\n")[2].partition("\n}\n")[0].splitlines():
        row = shlex.split(line, comments=True)
        match row[:1]:
            case ["wave"]:
                found.append(set())
            case ["move"]:
                found[-1].add(row[3])
            case ["goes"]:
                found[-1].add(row[4])
            case ["evict_pod"]:
                found.append({row[3]})
    return found


@contextmanager
def watched(live: ControlPlane) -> Iterator[list[tuple[str, str]]]:
    """What happens to pods, in order: `bound`, `leaving` and `gone`, with uids; complete at the end."""
    happened: list[tuple[str, str]] = []
    with Recorder(live) as recorder:
        yield happened
    for event in recorder.events:
        found = {"bound": bool(event.node), "leaving": event.ending, "gone": event.gone}
        steps = [(step, event.uid) for step, is_so in found.items() if is_so]
        happened += [step for step in steps if step not in happened]


def assert_apart(script: Path, happened: list[tuple[str, str]]) -> None:
    """Nothing of a wave is evicted before all that earlier ones evicted are gone."""
    found = waves(script)
    assert len(found) > 1
    for earlier, later in pairwise(found):
        ended = max(happened.index(("gone", uid)) for uid in earlier)
        assert ended < min(happened.index(("leaving", uid)) for uid in later)


def test_the_next_wave_waits(live: ControlPlane, tmp_path: Path) -> None:
    """rebalance: what holds the room for the next wave has a grace period of 20 s and takes 5 of them."""
    full_zone(live, linger=5, grace=20)
    script = planned(live, tmp_path, "rebalance")
    with watched(live) as happened:
        ended = carried_out(live, script, progress=True)
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"waiting for 1 pod to end, for \d s, at most 80 s: default/filler-", ended.stderr)
    assert_apart(script, happened)
    assert (per_zone(live, "web"), too_many(live), left_behind(live)) == ({"a": 1, "b": 1}, 0, [])


def test_the_next_nodes_wait(live: ControlPlane, tmp_path: Path) -> None:
    """drain: the second node comes when the first one is empty."""
    old_pool(live, linger=3, grace=10)
    script = planned(live, tmp_path, "drain", "old1", "old2")
    with watched(live) as happened:
        ended = carried_out(live, script, progress=True)
    assert ended.returncode == 0, ended.stderr
    assert_apart(script, happened)
    assert {item["spec"]["nodeName"] for item in live.get("pods")} == {"new1", "new2"}
    assert set(cordoned(live)) == {"old1", "old2"}


def test_a_node_is_not_empty_before_all_are_gone(live: ControlPlane, tmp_path: Path) -> None:
    """drain: a pod that is not in the plan, and that another user has deleted, has to go, too."""
    live.create(node("old1"), workload("web", 1))
    live.at_rest(1)
    live.create(node("new1"))
    script = planned(live, tmp_path, "drain", "old1")
    live.create(pod("other", nodeName="old1"))
    live.at_rest(2)
    live.kubectl("patch", "pod", "other", "--type=merge", "-p", HELD)
    live.kubectl("delete", "pod", "other", "--wait=false")

    def release() -> None:
        wait_for("a node with the other alone", lambda: names_on(live, "old1") == ["other"])
        time.sleep(4)
        assert cordoned(live) == {"old1": "was:open"}  # it is still at work
        live.kubectl("patch", "pod", "other", "--type=merge", "-p", RELEASED)

    assert carried_out_beside(live, script, "evicted", release).returncode == 0
    assert where(live) == {"new1"}


def test_the_next_step_of_a_batch_waits(live: ControlPlane, tmp_path: Path) -> None:
    """solve --allow-moves: the gate opens when all that made room for the pod are gone."""
    slow = workload("web", 3, cpu="1", annotations=lingering(3), terminationGracePeriodSeconds=10)
    live.create(node("a1"), slow)
    live.at_rest(3)
    live.create(node("b1", cpu="2"), pod("large", cpu="3", schedulingGates=GATES))
    script, before = planned(live, tmp_path, "solve", "--gated", "--allow-moves"), live.get("pods")
    with watched(live) as happened:
        ended = carried_out(live, script, progress=True)
    assert ended.returncode == 0, ended.stderr
    assert_apart(script, happened)
    (large,) = (item["metadata"]["uid"] for item in before if item["metadata"]["name"] == "large")
    last = max(happened.index(("gone", uid)) for wave in waves(script) for uid in wave)
    assert last < happened.index(("bound", large))
    assert (evictions(live, before), left_behind(live)) == (2, [])


def test_scaled_down_is_when_they_are_gone(live: ControlPlane, tmp_path: Path) -> None:
    """A StatefulSet deletes one by one, each takes longer than TIMEOUT, and the last is waited for."""
    slow = workload("db", 3, kind="StatefulSet", annotations=lingering(6), terminationGracePeriodSeconds=10)
    live.create(node("a1"), slow)
    live.at_rest(3)
    ended = carried_out(live, planned(live, tmp_path, "scale-down", "statefulset/db=1"), TIMEOUT="4")
    assert (ended.returncode, len(live.get("pods"))) == (0, 1), ended.stderr


def test_a_replacement_has_its_time_from_then_on(live: ControlPlane, tmp_path: Path) -> None:
    """A StatefulSet makes it when the old pod is gone, which here takes longer than TIMEOUT."""
    lopsided(live, kind="StatefulSet", annotations=lingering(7), terminationGracePeriodSeconds=10)
    script, before = planned(live, tmp_path, "rebalance", "--evict-only"), live.get("pods")
    ended = carried_out(live, script, progress=True, TIMEOUT="5")
    assert ended.returncode == 0, ended.stderr
    assert (too_many(live), evictions(live, before)) == (0, 2)


def test_a_pod_that_never_ends(live: ControlPlane, tmp_path: Path) -> None:
    """A finalizer holds it: one line says so, and no other wave begins; without it a new start goes on."""
    full_zone(live, linger=0, grace=1)
    (filler,) = live.pods(labels="app=filler")
    name = filler["metadata"]["name"]
    script, before = planned(live, tmp_path, "rebalance"), live.pods(labels="app=web")
    live.kubectl("patch", "pod", name, "--type=merge", "-p", HELD)
    for _ in range(2):  # the second start has to see it, too, before anything else
        ended = carried_out(live, script, progress=True, GRACE_MARGIN="2")
        assert ended.returncode == 1
        line = ended.stderr.splitlines()[-1]
        assert line.startswith(f"stopped: default/{name} on b1 is still terminating after ")
        assert "(grace period 1 s), finalizers: example.com/keep; when it has ended start this again" in line
        assert (evictions(live, before), left_behind(live)) == (0, [])
    live.kubectl("patch", "pod", name, "--type=merge", "-p", RELEASED)
    ended = carried_out(live, script, progress=True)
    assert (ended.returncode, too_many(live)) == (0, 0), ended.stderr


def test_a_pod_that_has_run_to_its_end_and_stays(live: ControlPlane, tmp_path: Path) -> None:
    """The name of a StatefulSet's pod is not free before it is gone: the picture says what holds it."""
    lopsided(live, kind="StatefulSet", annotations=lingering(600))
    script = planned(live, tmp_path, "rebalance", "--evict-only")
    for name in ("web-0", "web-1", "web-2", "web-3"):
        live.kubectl("patch", "pod", name, "--type=merge", "-p", HELD)
    failed = json.dumps({"status": {"phase": "Failed"}})

    def end() -> None:
        live.kubectl(
            "patch", "pod", *leaving_pods(live), "--subresource=status", "--type=merge", "-p", failed
        )

    ended = carried_out_until(live, script, "evicted", end, TIMEOUT="3")
    assert ended.returncode == 1
    (leaving,) = leaving_pods(live)
    assert f"  default/{leaving} is still terminating on a" in ended.stdout
    assert ", finalizers: example.com/keep\n" in ended.stdout


def leaving_pods(live: ControlPlane) -> list[str]:
    """The pods that are told to go and still there."""
    return [item["metadata"]["name"] for item in live.get("pods") if "deletionTimestamp" in item["metadata"]]


def test_a_kubelet_that_is_away(live: ControlPlane, tmp_path: Path) -> None:
    """drain: nothing ends its pods; it stops, says that, and opens the nodes.  The next start goes on."""
    old_pool(live, linger=600, grace=1)
    script = planned(live, tmp_path, "drain", "old1", "old2")
    away = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    live.kubectl("patch", "node", "old1", "--subresource=status", "-p", json.dumps(away))
    ended = carried_out(live, script, progress=True, GRACE_MARGIN="2")
    assert (ended.returncode, cordoned(live)) == (1, {})
    line = ended.stderr.splitlines()[-1]
    assert line.startswith("stopped: default/web-")
    assert " on old1 is still terminating after " in line
    assert ", and 1 more pod, its node is not ready; when " in line
    live.kubectl("delete", "pods", "--force", *names_on(live, "old1"))
    live.kubectl("annotate", "pods", "--all", "--overwrite", "stand-in/linger=0")
    ended = carried_out(live, script, progress=True)
    assert ended.returncode == 0, ended.stderr
    assert (where(live), set(cordoned(live))) == ({"new1", "new2"}, {"old1", "old2"})


def names_on(live: ControlPlane, on: str) -> list[str]:
    """The pods on a node, those that are leaving, too."""
    return [item["metadata"]["name"] for item in live.get("pods") if item["spec"].get("nodeName") == on]


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_interrupted_while_it_waits(live: ControlPlane, tmp_path: Path, name: str) -> None:
    """The next start finds what the first one evicted still terminating, and waits for that first."""
    full_zone(live, linger=30, grace=40)
    script = planned(live, tmp_path, "rebalance")
    with watched(live) as happened:
        assert struck(live, script, name, " to end, for ").returncode == {"TERM": 143, "KILL": -9}[name]
        assert left_behind(live) == []
        ended = carried_out(live, script, progress=True)
    assert ended.returncode == 0, ended.stderr
    assert "waiting for 1 pod to end" in ended.stderr
    assert_apart(script, happened)
    assert (too_many(live), left_behind(live)) == (0, [])
