"""What drains of sick nodes, finalizers, bare pods and Jobs come to: the planner says what then happens."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import node, pod, pod_spec, workload

#: kubectl drain gives up after so long; a pod of the stand-in ends in tenths of a second.
_PATIENCE = "--timeout=3s"


def _plan(live: ControlPlane, *words: str) -> tuple[int, dict[str, Any]]:
    ended = live.planner("drain", *words, "-o", "json")
    return ended.returncode, json.loads(ended.stdout)


def _drains(live: ControlPlane, name: str, *words: str) -> tuple[int, str]:
    ended = live.run("kubectl", "drain", name, "--ignore-daemonsets", _PATIENCE, *words)
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
    assert _drains(live, "n1")[0] == 1
    (stays,) = [found for found in live.get("pods") if found["spec"].get("nodeName") == "n1"]
    assert stays["metadata"]["deletionTimestamp"]
    assert f"default/{stays['metadata']['name']}" == plan["blocked"][0]["pod"]
    code, plan = _plan(live, "n1")
    assert (code, [row["reason"] for row in plan["blocked"]]) == (1, ["Finalizer"])
    gone = json.dumps({"metadata": {"finalizers": None}})
    live.kubectl("patch", "pod", stays["metadata"]["name"], "--type=merge", "-p", gone)
    wait_for("an empty node", lambda: None if "n1" in _places(live) else True)
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
    assert _drains(live, "n1")[0] == 1
    found = wait_for("two replacements", lambda: _on(live, "n2", 2))
    assert len(found) == 2
    assert all("deletionTimestamp" in item["metadata"] for item in live.get("pods") if item not in found)


def _on(live: ControlPlane, name: str, number: int) -> list[Manifest] | None:
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

    def failed() -> bool | None:
        jobs = {item["metadata"]["name"]: item["status"] for item in live.get("jobs")}
        conditions = [c["type"] for c in jobs["once"].get("conditions", ()) if c["status"] == "True"]
        return True if "Failed" in conditions and jobs["often"].get("failed") == 1 else None

    wait_for("a failed Job and a retry", failed)
    assert "Failed" not in str(
        next(j for j in live.get("jobs") if j["metadata"]["name"] == "often")["status"]
    )
