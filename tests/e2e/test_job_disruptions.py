"""Evictions of pods that wait for something on a real cluster: Jobs, and StatefulSets with OrderedReady."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import node, pod_spec, spread, workload
from tests.e2e.stories import carried_out, per_zone, planned

_IGNORES = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def _job(parallelism: int = 3, *, soft: bool = False, **spec: Any) -> Manifest:
    words = pod_spec(restartPolicy="Never", topologySpreadConstraints=[spread("sums", soft=soft)])
    template = {"metadata": {"labels": {"app": "sums"}}, "spec": words}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sums", "namespace": "default"},
        "spec": {"parallelism": parallelism, "completions": parallelism, "template": template, **spec},
    }


def _lopsided(live: ControlPlane, **spec: Any) -> None:
    """Three pods of a Job in zone a, and a zone b that has come since."""
    live.create(node("a1"), _job(**spec))
    live.at_rest(3)
    live.create(node("b1", zone="b"))


def _status(live: ControlPlane) -> Manifest:
    found: Manifest = live.get("jobs")[0]["status"]
    return found


def _condition(live: ControlPlane) -> str | None:
    """Why the Job has ended, if it has."""
    return next((c["reason"] for c in _status(live).get("conditions", ()) if c["type"] == "Failed"), None)


def _plan(live: ControlPlane, *words: str) -> Manifest:
    ended = live.planner(*words, "-o", "json")
    assert ended.returncode in (0, 1), ended.stderr
    found: Manifest = json.loads(ended.stdout)
    return found


def test_a_job_with_retries_is_moved_when_that_is_asked_for(live: ControlPlane, tmp_path: Path) -> None:
    """Left alone without --jobs; with it one pod moves, one retry is lost, and the Job runs on."""
    _lopsided(live, backoffLimit=2)
    plan = _plan(live, "rebalance")
    assert (plan["steps"], plan["stays"]) == ([], {"of a Job": 3})
    script = planned(live, tmp_path, "rebalance", "--jobs")
    ended = carried_out(live, script)
    assert (ended.returncode, ended.stderr) == (0, "")
    live.at_rest(3)
    assert (per_zone(live, "sums"), _condition(live)) == ({"a": 2, "b": 1}, None)
    wait_for("the count of its failure", lambda: _status(live).get("failed") == 1)


def test_a_pod_that_runs_to_its_end_before_its_turn(live: ControlPlane, tmp_path: Path) -> None:
    """It was taken for one that was evicted, and a replacement waited for that the Job never makes."""
    _lopsided(live, backoffLimit=2)
    script = planned(live, tmp_path, "rebalance", "--jobs")
    (name,) = (line.split()[2] for line in script.read_text().splitlines() if line.startswith("    move "))
    done = json.dumps({"status": {"phase": "Succeeded"}})
    live.kubectl("patch", "pod", name, "--subresource=status", "-p", done)
    wait_for("its end", lambda: _status(live).get("succeeded"))
    ended = carried_out(live, script)
    assert ended.returncode == 1
    assert f"stopped: default/{name} has run to its end, and not by this plan; plan again: " in ended.stderr


@pytest.mark.parametrize("command", ["rebalance", "drain"])
def test_a_job_without_retries(live: ControlPlane, tmp_path: Path, command: str) -> None:
    """No plan of moves touches it, with --jobs or without; a drain says that it fails, and so it does."""
    _lopsided(live, backoffLimit=0)
    if command == "rebalance":
        plan = _plan(live, "rebalance", "--jobs")
        assert (plan["steps"], plan["stays"]) == ([], {"of a Job that would not survive it": 3})
        return
    plan = _plan(live, "drain", "a1")
    (row,) = plan["jobs"]
    assert (row["outcome"], row["reason"], row["evictions"]) == ("Fails", "BackoffLimitExceeded", 3)
    ended = carried_out(live, planned(live, tmp_path, "drain", "a1"))
    assert ended.returncode == 0
    wait_for("the end of the Job", lambda: _condition(live))
    assert _condition(live) == row["reason"]
    wait_for("the end of its pods", lambda: not live.pods())


def test_a_job_that_ignores_evictions(live: ControlPlane) -> None:
    """A drain says so; the pods come back, and nothing is counted as failed."""
    _lopsided(live, soft=True, backoffLimit=0, podFailurePolicy={"rules": [_IGNORES]})
    assert len(_plan(live, "rebalance", "--jobs", "--soft")["steps"]) == 1
    (row,) = _plan(live, "drain", "a1")["jobs"]
    assert (row["outcome"], row.get("retriesLeft")) == ("KeepsRunning", None)
    live.kubectl("drain", "a1")
    wait_for("pods on b1", lambda: per_zone(live, "sums") == {"b": 3})
    assert (_status(live).get("failed", 0), _condition(live)) == (0, None)


def test_a_job_that_replaces_failed_pods_alone(live: ControlPlane, tmp_path: Path) -> None:
    """The drain waits until its pod has ended; then the Job makes another, on a node that is left."""
    rules = {"rules": [_IGNORES]}
    lingers = _job(1, podReplacementPolicy="Failed", backoffLimit=0, podFailurePolicy=rules)
    lingers["spec"]["template"]["metadata"]["annotations"] = {"stand-in/linger": "2"}
    lingers["spec"]["template"]["spec"] |= {
        "terminationGracePeriodSeconds": 10,
        "topologySpreadConstraints": [],
    }
    live.create(node("a1"), lingers)
    live.at_rest(1)
    live.create(node("b1"))
    ended = carried_out(live, planned(live, tmp_path, "drain", "a1"))
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "done: 1 node is empty, and cordoned")
    assert {pod["spec"]["nodeName"] for pod in live.at_rest(1)} == {"b1"}
    assert (_condition(live), _status(live).get("failed", 0)) == (None, 0)


def test_ordered_ready_with_an_unready_first_pod(live: ControlPlane) -> None:
    """w-1 and w-2 stay, for a reason: evicted all the same, w-1 does not come back."""
    claims = workload("w", 3, spread("w"), kind="StatefulSet")
    live.create(node("a1"), claims)
    live.at_rest(3)
    live.create(node("b1", zone="b"))
    unready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    patch = ("--subresource=status", "--type=strategic", "-p", json.dumps(unready))
    live.kubectl("patch", "pod", "w-0", "-n", "default", *patch)
    live.kubectl("annotate", "pod", "w-0", "cluster-autoscaler.kubernetes.io/safe-to-evict=false")
    plan = _plan(live, "rebalance")
    waits = "of a StatefulSet that makes it again only when lower ordinals are ready"
    assert (plan["steps"], plan["stays"][waits]) == ([], 2)
    live.kubectl("delete", "pod", "w-1", "-n", "default")
    with pytest.raises(AssertionError):
        wait_for("w-1 again", lambda: len(live.pods()) == 3, 3)
