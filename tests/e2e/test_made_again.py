"""What is made in place of pods that are not as their template has them, or that cannot end."""

from __future__ import annotations

import json
from pathlib import Path

from tests.builders import REQUIRED, term
from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.generated import static
from tests.e2e.manifests import HOSTNAME, node, pod_spec, spread, workload
from tests.e2e.stories import carried_out, evictions, planned
from tests.e2e.test_admission import told


def _patched(live: ControlPlane, what: str, patch: Manifest, *more: str) -> None:
    live.kubectl("patch", what, "--type=merge", "-p", json.dumps(patch), *more)


def _resized(live: ControlPlane, pod: Manifest, cpu: str) -> None:
    """Resize a pod as its kubelet would: first it says what the container has, and at last what it got."""
    name, now = f"pod/{pod['metadata']['name']}", pod["spec"]["containers"][0]["resources"]
    for wanted in (now, {"requests": {"cpu": cpu}}):
        if wanted is not now:
            spec = {"containers": [{"name": "c", "resources": wanted}]}
            _patched(live, name, {"spec": spec}, "--subresource=resize", "--type=strategic")
        statuses = [{**one, "resources": wanted} for one in pod["status"]["containerStatuses"]]
        _patched(live, name, {"status": {"containerStatuses": statuses}}, "--subresource=status")


def _pending(live: ControlPlane) -> list[Manifest]:
    return [pod for pod in live.pods() if not pod["spec"].get("nodeName")]


def test_a_pod_that_was_resized_is_replaced_as_its_template_has_it(live: ControlPlane) -> None:
    """Three of 3 cpu, resized to 2: drained, one of them has no room for 3, which is told before."""
    live.create(*(node(name, cpu="4") for name in ("n1", "n2", "n3")), workload("web", 3, cpu="3"))
    for pod in live.at_rest(3):
        _resized(live, pod, "2")
    code, plan = told(live, "drain", "n3")
    assert (code, plan["after"]["pending"]) == (1, 1)
    assert any("were resized in place" in note for note in plan["notes"])
    assert told(live, "consolidate")[1]["removed"] == []
    live.kubectl("drain", "n3", "--ignore-daemonsets", "--force")
    (pod,) = wait_for("a pod without a node", lambda: _pending(live))
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "3"


def test_a_pod_of_an_older_revision_is_replaced_as_the_template_has_it(live: ControlPlane) -> None:
    """With OnDelete, 1 cpu is 3 by now: what a drain or a loss makes again has no room, told before."""
    database = workload("db", 2, kind="StatefulSet", cpu="1")
    database["spec"]["updateStrategy"] = {"type": "OnDelete"}
    spread_out = {"podAntiAffinity": {REQUIRED: [term(HOSTNAME, app="db")]}}
    database["spec"]["template"]["spec"]["affinity"] = spread_out
    live.create(node("n1", cpu="4"), node("n2", cpu="4"), database)
    live.at_rest(2)
    live.create(node("n3", cpu="2"))
    large = pod_spec("3", affinity=spread_out)
    _patched(live, "statefulset/db", {"spec": {"template": {"spec": large}}})
    (lost,) = (pod["spec"]["nodeName"] for pod in live.pods() if pod["metadata"]["name"] == "db-1")
    seen = wait_for("the new revision", lambda: _revisions(live))
    assert seen["updateRevision"] != seen["currentRevision"]
    assert told(live, "drain", lost)[1]["after"]["pending"] == 1
    survived = told(live, "check", "--survive", HOSTNAME)[1]["domains"]
    assert [row["pods"] for loss in survived if loss["domain"] == lost for row in loss["pending"]] == [1]
    assert len(told(live, "simulate", "--remove-node", lost)[1]["pending"]) == 1
    live.kubectl("drain", lost, "--ignore-daemonsets")
    (pod,) = wait_for("a pod without a node", lambda: _pending(live))
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "3"


def _revisions(live: ControlPlane) -> Manifest | None:
    """The status of the only StatefulSet once its controller has seen what was changed."""
    (found,) = live.get("statefulsets")
    is_seen = found["status"]["observedGeneration"] == found["metadata"]["generation"]
    return dict(found["status"]) if is_seen else None


def test_a_paused_deployment_grows_by_what_runs(live: ControlPlane) -> None:
    """Its template was made small while it was paused; the pods that come are as large as those there."""
    live.create(*(node(name, cpu="4") for name in ("n1", "n2", "n3")), workload("web", 2, cpu="3"))
    live.at_rest(2)
    live.kubectl("rollout", "pause", "deployment/web")
    small = pod_spec("100m")["containers"]
    _patched(live, "deployment/web", {"spec": {"template": {"spec": {"containers": small}}}})
    code, found = told(live, "simulate", "--scale", "deployment/web=4")
    assert (code, len(found["pending"])) == (1, 1)
    live.kubectl("scale", "deployment/web", "--replicas=4")
    wait_for("four pods", lambda: len(live.pods()) == 4)
    static(live)
    (pod,) = _pending(live)
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "3"


def test_no_pod_is_evicted_that_would_not_end(live: ControlPlane, tmp_path: Path) -> None:
    """All run on a node that is lost: nothing is planned, and when it is back all is level in the end."""
    live.create(node("a1", zone="a"))
    parallel = workload("db", 4, spread("db"), kind="StatefulSet", terminationGracePeriodSeconds=30)
    parallel["spec"]["podManagementPolicy"] = "Parallel"
    live.create(parallel)
    live.at_rest(4)
    live.create(node("b1", zone="b"))
    assert told(live, "rebalance")[1]["steps"]
    taint = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    _patched(live, "node/a1", {"spec": {"taints": taint}})
    before = live.pods()
    code, plan = told(live, "rebalance")
    assert (code, plan["steps"]) == (1, [])
    assert plan["stays"] == {"on a node that is not ready, where evictions do not end": 4}
    carried_out(live, planned(live, tmp_path, "rebalance"))
    assert evictions(live, before) == 0
    _patched(live, "node/a1", {"spec": {"taints": None}})
    assert carried_out(live, planned(live, tmp_path, "rebalance")).returncode == 0
    assert told(live, "check")[0] == 0


def test_pods_of_a_gated_template_and_of_jobs_of_others(live: ControlPlane) -> None:
    """The gate was taken from those that run; the Job's controller is elsewhere, and no pod comes."""
    live.create(node("a1", zone="a"))
    live.create(workload("web", 3, spread("web"), schedulingGates=[{"name": "example.com/wait"}]))
    for pod in wait_for("gated pods", lambda: live.pods() if len(live.pods()) == 3 else None):
        _patched(live, f"pod/{pod['metadata']['name']}", {"spec": {"schedulingGates": None}})
    live.at_rest(3)
    live.create(node("b1", zone="b"))
    code, plan = told(live, "rebalance")
    assert (code, plan["steps"]) == (1, [])
    assert plan["stays"] == {"whose replacement would wait for its scheduling gate": 3}
    spec = {
        "managedBy": "example.com/elsewhere",
        "template": {"spec": {**pod_spec(), "restartPolicy": "Never"}},
    }
    metadata = {"name": "once", "namespace": "default"}
    live.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    code, found = told(live, "simulate")
    assert (code, found["pending"]) == (0, [])
    assert any("Job default/once is managed by example.com/elsewhere" in note for note in found["notes"])
