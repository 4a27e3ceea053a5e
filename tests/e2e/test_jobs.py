"""A Job beside a rollout: its pods end, others follow, and pods that wait for their room get it."""

from __future__ import annotations

import json

from models import Cluster
from planner.simulation.rollout import rollout
from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.manifests import ZONE, node, pod_spec, workload

_KINDS = "deployments,replicasets,jobs,nodes,pods,namespaces,priorityclasses"


def _job(name: str, parallelism: int, completions: int) -> Manifest:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec("900m", restartPolicy="Never")}
    spec = {"parallelism": parallelism, "completions": completions, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _pods(live: ControlPlane, app: str) -> list[Manifest]:
    return live.pods(labels=f"app={app}")


def _running(live: ControlPlane, app: str) -> list[Manifest]:
    return [pod for pod in _pods(live, app) if is_ready(pod) and pod["status"]["phase"] == "Running"]


def _succeed(live: ControlPlane, pod: Manifest) -> None:
    """What a kubelet says of a pod that has run to its end."""
    done = json.dumps({"status": {"phase": "Succeeded"}})
    words = ("pod", pod["metadata"]["name"], "-n", "default", "--subresource=status", "--type=merge")
    live.kubectl("patch", *words, "-p", done)


def _line(live: ControlPlane, app: str) -> str | None:
    for pod in _pods(live, app):
        for found in pod["status"].get("conditions", ()):
            if found["type"] == "PodScheduled" and found["status"] == "False":
                return str(found["message"])
    return None


def test_a_rollout_waits_for_the_room_of_a_job(live: ControlPlane) -> None:
    """Alone it stops, with this line; beside the Job that is applied with it both complete, as they do.

    It has room beside one pod of the Job, not beside two.
    """
    live.create(node("na", zone="a", cpu="2700m"))
    job, web = _job("sums", 2, 5), workload("web", 1, cpu="1500m")
    live.create(job)
    wait_for("two pods", lambda: len(_running(live, "sums")) == 2)
    dump = json.loads(live.kubectl("get", _KINDS, "--all-namespaces", "-o", "json"))
    before = Cluster.from_objects(dump["items"])
    alone = rollout(before, Cluster.from_objects([web], partial=True), fixes=False).workloads[0]
    both = rollout(before, Cluster.from_objects([web, job], partial=True), fixes=False)
    live.create(web)
    assert wait_for("a verdict", lambda: _line(live, "web")) == alone.message
    assert (alone.completes, both.completes) == (False, True)
    for done in range(1, 6):
        found = wait_for("a running pod", lambda: _running(live, "sums"))
        assert len(found) <= min(2, 6 - done)
        _succeed(live, found[0])
        wait_for("its end", lambda done=done: _succeeded(live) == done)  # type: ignore[misc]
    wait_for("the Deployment", lambda: len(_running(live, "web")) == 1)
    row = next(row for row in both.workloads if row.workload == "Job/sums")
    assert [end.domains for end in row.ends] == [{ZONE: {"a": _succeeded(live)}}]


def _succeeded(live: ControlPlane) -> int:
    (job,) = live.get("jobs")
    return int(job["status"].get("succeeded", 0))
