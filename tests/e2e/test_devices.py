"""Devices that kube-scheduler allocates: from ResourceSlices, for claims and for templates of claims."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import HOSTNAME, node, pod, spread, workload
from tests.e2e.test_admission import told

_GROUP, _CLASS = "resource.k8s.io/v1", "gpu.example.com"
_ASKED: Manifest = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": _CLASS}}]}}


def _object(kind: str, name: str, spec: Manifest, **metadata: Any) -> Manifest:
    return {"apiVersion": _GROUP, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _devices(on: str, number: int) -> Manifest:
    """So many devices of a node."""
    devices = [{"name": f"gpu-{n}"} for n in range(number)]
    pool = {"name": on, "generation": 1, "resourceSliceCount": 1}
    return _object(
        "ResourceSlice", on, {"driver": "example.com", "nodeName": on, "pool": pool, "devices": devices}
    )


def _claiming(**claim: str) -> Manifest:
    """What the spec of a pod has more: a claim of this name, or one from a template."""
    return {"resourceClaims": [{"name": "gpu", **claim}]}


@pytest.fixture
def gpus(live: ControlPlane) -> ControlPlane:
    """Two nodes, one of them with a single device, and a Deployment whose pod has it by a claim template."""
    chosen = {"selectors": [{"cel": {"expression": "device.driver == 'example.com'"}}]}
    live.create(node("a1", cpu="8"), node("b1", cpu="2"))
    live.create(_object("DeviceClass", _CLASS, chosen), _devices("b1", 1))
    live.create(_object("ResourceClaimTemplate", "one", {"spec": _ASKED}, namespace="default"))
    live.create(workload("trainer", 1, **_claiming(resourceClaimTemplateName="one")))
    (found,) = live.at_rest(1)
    assert found["spec"]["nodeName"] == "b1"
    return live


def test_where_devices_are_not_allocated_nothing_is_decided(gpus: ControlPlane) -> None:
    """The only device is in use: a second pod waits, and kube-scheduler's line is no contradiction."""
    gpus.kubectl("scale", "deployment/trainer", "--replicas=2")

    def told_of() -> bool:
        waiting = (pod for pod in gpus.pods() if not pod["spec"].get("nodeName"))
        said = (item.get("message", "") for pod in waiting for item in pod["status"].get("conditions", ()))
        return any("2 cannot allocate all claims" in line for line in said)

    wait_for("the line of kube-scheduler", told_of)
    code, found = told(gpus, "simulate")
    assert (code, found["contradicted"]) == (1, [])
    assert "0/2 nodes are available: 2 undecided: ResourceClaim" in found["decisions"][0]["message"]


def test_a_pod_is_not_moved_from_its_devices(gpus: ControlPlane) -> None:
    """No other node has any, and evicted it waits: a consolidation keeps it, a drain decides nothing."""
    before = gpus.pods()
    plan = told(gpus, "consolidate")[1]
    assert [item["node"] for item in plan["removed"]] == ["a1"]
    (kept,) = plan["kept"]
    assert kept["reason"] == "holds a pod whose devices are not passed on to a replacement"
    code, plan = told(gpus, "drain", "b1")
    assert (code, plan["after"]["pending"]) == (1, 1)
    gpus.kubectl("drain", "b1", "--ignore-daemonsets")
    wait_for("a pod without a node", lambda: [p for p in gpus.pods() if not p["spec"].get("nodeName")])
    assert before[0]["metadata"]["uid"] not in {pod["metadata"]["uid"] for pod in gpus.pods()}


def test_pods_of_one_claim_go_where_its_device_is(gpus: ControlPlane) -> None:
    """The claim is allocated with the first pod; others are planned where kube-scheduler then places them."""
    gpus.create(
        node("c1", cpu="2"),
        _devices("c1", 1),
        _object("ResourceClaim", "shared", _ASKED, namespace="default"),
    )
    gpus.create(pod("first", "shared", **_claiming(resourceClaimName="shared")))
    gpus.at_rest(2)
    group = workload(
        "group", 2, spread("group", HOSTNAME, soft=True), **_claiming(resourceClaimName="shared")
    )
    code, found = told(gpus, "rollout", "-f", "-", given=group)
    (end,) = found["workloads"][0]["ends"]
    assert (code, end["domains"]) == (0, {HOSTNAME: {"a1": 0, "b1": 0, "c1": 2}})
    gpus.create(group)
    assert {pod["spec"]["nodeName"] for pod in gpus.at_rest(4)} == {"b1", "c1"}
    assert [
        item["node"] for item in told(gpus, "consolidate", "--nodes", "b1", "--nodes", "c1")[1]["removed"]
    ] == []
    assert told(gpus, "rebalance", "--soft")[1]["steps"] == []
