"""A pod that does not end, and a quota that is full, on a real control plane."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.documents.rollout import Rollout
from tests import builders
from tests.e2e.control_plane import ControlPlane, is_ready, wait_for
from tests.e2e.generated import static
from tests.e2e.manifests import node, workload

_GRACE_SECONDS = 2


@pytest.mark.parametrize(("resource", "completes"), [("pods", True), ("count/pods", False)])
def test_a_rollout_beside_a_pod_that_does_not_end(
    live: ControlPlane, tmp_path: Path, resource: str, completes: bool
) -> None:
    """A quota of pods takes it for stuck in time, and the rollout completes; one of objects never does."""
    web = workload("web", 3, cpu="200m", terminationGracePeriodSeconds=_GRACE_SECONDS)
    web["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    live.create(*(node(f"n{zone}", zone=zone) for zone in "abc"), builders.quota({resource: "3"}), web)
    (lost,) = (pod["metadata"]["name"] for pod in live.at_rest(3) if pod["spec"]["nodeName"] == "nc")
    _lose(live, "nc", lost)
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    (path := tmp_path / "web.json").write_text(json.dumps(web))
    told = live.planner("rollout", "-f", str(path), "-o", "json").stdout
    assert Rollout.model_validate_json(told).completes is completes
    live.kubectl("apply", "-f", str(path))
    wait_for("its end", lambda: any("deletionTimestamp" in p["metadata"] for p in live.get("pods")))
    if completes:
        wait_for("the new pods", lambda: _counted_again(live) == 3)
    else:
        static(live)
        assert _counted_again(live) == 0
    static(live)
    assert _new(live) == (3 if completes else 0)


def _lose(live: ControlPlane, name: str, pod: str) -> None:
    """The node does not answer: its pod is not ready, and does not end when it is deleted."""
    live.kubectl("annotate", "pod", pod, "stand-in/linger=100000")
    for effect in ("NoSchedule", "NoExecute"):
        live.kubectl("taint", "node", name, f"node.kubernetes.io/unreachable:{effect}")
    unready = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
    live.kubectl("patch", "pod", pod, "--subresource=status", "-p", unready)


def _counted_again(live: ControlPlane) -> int:
    """Have the quota count, as it does every five minutes, and ReplicaSets try; how many new pods are."""
    (quota,) = live.get("resourcequotas")
    more = {"spec": {"hard": {"services": quota["metadata"]["resourceVersion"]}}}
    live.kubectl("patch", "resourcequota", quota["metadata"]["name"], "-p", json.dumps(more))
    live.kubectl(
        "annotate", "replicaset", "--all", f"tried={quota['metadata']['resourceVersion']}", "--overwrite"
    )
    return _new(live)


def _new(live: ControlPlane) -> int:
    images = [pod["spec"]["containers"][0]["image"] for pod in live.pods() if is_ready(pod)]
    return images.count("other")
