"""What drains of sick nodes, finalizers, bare pods and Jobs come to: the planner says what then happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import budget, node, pod, pod_spec, workload
from tests.e2e.stories import carried_out, planned

#: kubectl drain gives up after so long where it is to wait in vain.
_IN_VAIN = "--timeout=5s"


def _plan(live: ControlPlane, *words: str) -> tuple[int, dict[str, Any]]:
    ended = live.planner("drain", *words, "-o", "json")
    return ended.returncode, json.loads(ended.stdout)


def _drains(live: ControlPlane, name: str, *words: str) -> tuple[int, str]:
    ended = live.run("kubectl", "drain", name, "--ignore-daemonsets", *words)
    return ended.returncode, ended.stderr


def _job(name: str, retries: int) -> Manifest:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(restartPolicy="Never")}
    spec = {"parallelism": 1, "completions": 1, "backoffLimit": retries, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def test_a_finalizer_keeps_a_node_from_being_emptied(live: ControlPlane) -> None:
    """The eviction is accepted, and the pod stays Terminating; without the finalizer the node is emptied."""
    held = workload("web", 1)
    held["spec"]["template"]["metadata"]["finalizers"] = ["example.com/hold"]
    live.create(node("n1"), held)
    live.at_rest(1)
    live.create(node("n2"))
    code, plan = _plan(live, "n1")
    assert (code, [row["reason"] for row in plan["blocked"]]) == (1, ["Finalizer"])
    assert _drains(live, "n1", _IN_VAIN)[0] == 1
    (stays,) = [found for found in live.get("pods") if found["spec"].get("nodeName") == "n1"]
    assert stays["metadata"]["deletionTimestamp"]
    assert f"default/{stays['metadata']['name']}" == plan["blocked"][0]["pod"]
    code, plan = _plan(live, "n1")
    assert (code, [row["reason"] for row in plan["blocked"]]) == (1, ["Finalizer"])
    gone = json.dumps({"metadata": {"finalizers": None}})
    live.kubectl("patch", "pod", stays["metadata"]["name"], "--type=merge", "-p", gone)
    wait_for("an empty node", lambda: "n1" not in _places(live))
    assert _plan(live, "n1")[0] == 0


def _places(live: ControlPlane) -> set[str]:
    return {found["spec"].get("nodeName", "") for found in live.get("pods")}


def test_a_pod_without_a_controller_is_not_evicted(live: ControlPlane) -> None:
    """kubectl drain refuses in these words, and evicts nothing on the node; with --force it does."""
    live.create(node("n1"), pod("tool"), workload("web", 2))
    live.at_rest(3)
    live.create(node("n2"))
    code, plan = _plan(live, "n1")
    (row,) = plan["blocked"]
    refused, words = _drains(live, "n1")
    assert (code, refused, row["reason"]) == (1, 1, "NoController")
    assert row["message"] in words
    assert _places(live) == {"n1"}
    assert _plan(live, "n1", "--force")[0] == 0
    assert _drains(live, "n1", "--force")[0] == 0
    live.at_rest(2)
    assert _places(live) == {"n2"}


def test_a_pod_with_scratch_data_is_not_evicted(live: ControlPlane) -> None:
    """kubectl drain refuses in these words, of both kinds, and evicts nothing; with both flags it does."""
    scratch = [{"name": "scratch", "emptyDir": {}}]
    live.create(node("n1"), pod("tool"), pod("cache", volumes=scratch), workload("web", 2, volumes=scratch))
    live.at_rest(4)
    live.create(node("n2"))
    code, plan = _plan(live, "n1")
    (row,) = plan["blocked"]
    refused, words = _drains(live, "n1")
    reasons = {found["pod"].partition("-")[0]: found["reason"] for found in row["pods"]}
    expected = {
        "default/web": "LocalStorage",
        "default/cache": "LocalStorage",
        "default/tool": "NoController",
    }
    assert (code, refused, reasons) == (1, 1, expected)
    for message in {found["message"] for found in row["pods"]}:
        told, _, names = message.rpartition(": ")
        assert told in words
        assert all(name in words for name in names.split(", "))
    flags = ("--force", "--delete-emptydir-data")
    for flag in flags:
        assert (_plan(live, "n1", flag)[0], _drains(live, "n1", flag)[0], _places(live)) == (1, 1, {"n1"})
    assert _plan(live, "n1", *flags)[0] == 0
    assert _drains(live, "n1", *flags)[0] == 0
    live.at_rest(2)
    assert _places(live) == {"n2"}


def test_no_budget_holds_pods_that_have_not_started(live: ControlPlane) -> None:
    """The eviction API lets them go at once, whatever a budget wants; a snapshot of it says the same."""
    second = budget("web", minAvailable="100%")
    second["metadata"]["name"] = "all"
    live.create(node("n1"), budget("web", minAvailable=1), second)
    live.create(workload("web", 2, annotations={"stand-in/never-ready": ""}))
    wait_for("both on n1", lambda: _on(live, "n1", 2))
    live.create(node("n2"))
    code, plan = _plan(live, "n1")
    assert (code, plan["blocked"]) == (0, [])
    snapshot = live.home / "snapshot.json"
    assert live.planner("snapshot", "-o", str(snapshot)).returncode == 0
    assert live.planner("drain", "n1", "-f", str(snapshot)).returncode == 0
    assert _drains(live, "n1")[0] == 0
    wait_for("both on n2", lambda: _on(live, "n2", 2))


def test_a_budget_that_wants_none_refuses_the_only_pod_that_is_not_ready(live: ControlPlane) -> None:
    """None is healthy, so it allows none; one that wants a pod more than are healthy does neither."""
    live.create(node("n1"), budget("web", minAvailable=0))
    live.create(workload("web", 1, annotations={"stand-in/never-ready": ""}))
    (found,) = wait_for("a pod on n1", lambda: _on(live, "n1", 1))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    name = found["metadata"]["name"]
    patch = json.dumps({"status": status})
    live.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p", patch)
    live.create(node("n2"))
    code, plan = _plan(live, "n1")
    assert (code, [row["pod"] for row in plan["blocked"]]) == (1, [f"default/{name}"])
    refused, words = _drains(live, "n1", _IN_VAIN)
    assert refused == 1
    assert plan["blocked"][0]["message"].partition(" The ")[0] in words


def test_replacements_of_gated_pods_are_gated(live: ControlPlane, tmp_path: Path) -> None:
    """A pod that was narrowed to its node and let go is made anew from its template, and waits."""
    gates = [{"name": "example.com/quota"}]
    live.create(node("n1"), workload("web", 2, schedulingGates=gates))
    wait_for("two pods", lambda: len(live.pods()) == 2)
    script = planned(live, tmp_path, "solve", "--gated")
    assert carried_out(live, script).returncode == 0
    live.at_rest(2)
    live.create(node("n2"))
    code, plan = _plan(live, "n1")
    assert (code, [row["message"] for row in plan["pending"]]) == (1, ["scheduling gated"])
    assert _drains(live, "n1")[0] == 0
    waiting = wait_for("two new pods", lambda: _on(live, None, 2))
    assert all(item["spec"]["schedulingGates"] and "affinity" not in item["spec"] for item in waiting)


def test_a_node_that_is_unreachable_is_not_emptied(live: ControlPlane) -> None:
    """No kubelet ends its pods: replacements of a Deployment come, its pods stay Terminating."""
    web = workload("web", 2)
    web["spec"]["template"]["metadata"]["annotations"] = {"stand-in/linger": "600"}
    # The API server itself deletes what has no grace period.
    web["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 30
    live.create(node("n1"), web)
    live.at_rest(2)
    live.create(node("n2"))
    status = {
        "status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}
    }
    live.kubectl("patch", "node", "n1", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    live.kubectl("taint", "nodes", "n1", "node.kubernetes.io/unreachable:NoSchedule")
    code, plan = _plan(live, "n1")
    assert (code, [row["reason"] for row in plan["blocked"]]) == (1, ["NodeNotReady"])
    assert [row["lands"] for step in plan["steps"] for row in step["evictions"]] == ["n2", "n2"]
    assert _drains(live, "n1", _IN_VAIN)[0] == 1
    found = wait_for("two replacements", lambda: _on(live, "n2", 2))
    assert len(found) == 2
    leaving = [item for item in live.get("pods") if item["spec"].get("nodeName") == "n1"]
    assert ["deletionTimestamp" in item["metadata"] for item in leaving] == [True, True]


def _on(live: ControlPlane, name: str | None, number: int) -> list[Manifest] | None:
    found = [item for item in live.pods() if item["spec"].get("nodeName") == name]
    return found if len(found) == number else None


def test_a_drain_fails_a_job_without_retries(live: ControlPlane) -> None:
    """With backoffLimit 0 the eviction fails the Job, with more it goes on with one retry less."""
    live.create(node("n1"), _job("once", 0), _job("often", 3))
    live.at_rest(2)
    live.create(node("n2"))
    code, plan = _plan(live, "n1")
    outcomes = {row["job"]: row["outcome"] for row in plan["jobs"]}
    assert (code, outcomes) == (1, {"once": "Fails", "often": "LosesRetries"})
    assert _drains(live, "n1")[0] == 0

    def failed() -> bool:
        jobs = {item["metadata"]["name"]: item["status"] for item in live.get("jobs")}
        conditions = [c["type"] for c in jobs["once"].get("conditions", ()) if c["status"] == "True"]
        return "Failed" in conditions and jobs["often"].get("failed") == 1

    wait_for("a failed Job and a retry", failed)
    assert "Failed" not in str(
        next(j for j in live.get("jobs") if j["metadata"]["name"] == "often")["status"]
    )
