"""Features of controllers: Jobs, StatefulSets and DaemonSets, budgets with their policies, quotas."""

from __future__ import annotations

import copy
import random

from tests.truth import manifests
from tests.truth.manifests import Object
from tests.truth.wide_pods import templates

_IGNORES = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
_COUNTS = {"action": "Count", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def _owned(objects: list[Object]) -> dict[tuple[str, str], list[Object]]:
    """The pods of every controller, by namespace and its name."""
    found: dict[tuple[str, str], list[Object]] = {}
    for pods in templates(objects):
        for pod in pods:
            owner = manifests.controller(pod)
            if owner is not None and owner["kind"] in ("ReplicaSet", "StatefulSet", "Job"):
                found.setdefault((pod["metadata"]["namespace"], owner["name"]), []).append(pod)
    return found


def _given(pods: list[Object], kind: str, version: str) -> None:
    for pod in pods:
        owner = manifests.controller(pod)
        if owner is not None:
            pod["metadata"]["ownerReferences"] = [{**owner, "kind": kind, "apiVersion": version}]


def _template(pods: list[Object]) -> Object:
    spec = {
        key: value for key, value in pods[0]["spec"].items() if key not in ("nodeName", "schedulingGates")
    }
    return {"metadata": {"labels": pods[0]["metadata"]["labels"]}, "spec": spec}


def jobs(chance: random.Random, objects: list[Object], _: str) -> None:
    """Some workloads are Jobs, with and without retries and policies."""
    for (space, name), pods in _owned(objects).items():
        if chance.random() < 0.5:
            _given(pods, "Job", "batch/v1")
            spec: Object = {
                "parallelism": len(pods),
                "completions": len(pods) + 2,
                "template": _template(pods),
            }
            if chance.random() < 0.8:
                spec["backoffLimit"] = chance.choice((0, 0, 1, 6))
            if chance.random() < 0.4:
                spec["podFailurePolicy"] = {"rules": [chance.choice((_IGNORES, _COUNTS))]}
            if chance.random() < 0.3:
                spec["podReplacementPolicy"] = "Failed"
            for pod in pods:
                pod["spec"]["restartPolicy"] = "Never"
            spec["template"]["spec"] = {**spec["template"]["spec"], "restartPolicy": "Never"}
            metadata = {"name": name, "namespace": space, "uid": f"uid-{name}"}
            status = {"active": len(pods), "failed": chance.choice((0, 0, 1))}
            objects.append(
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": metadata,
                    "spec": spec,
                    "status": status,
                }
            )


def stateful_sets(chance: random.Random, objects: list[Object], _: str) -> None:
    """Some workloads are StatefulSets that are in the snapshot, whole but for a pod that is not ready."""
    for (space, name), pods in _owned(objects).items():
        if chance.random() < 0.6 and not any(
            item["kind"] == "Job" and item["metadata"]["name"] == name for item in objects
        ):
            _given(pods, "StatefulSet", "apps/v1")
            for number, pod in enumerate(pods):
                pod["metadata"]["name"] = f"{name}-{number}"
                pod["metadata"].pop("deletionTimestamp", None)
                if chance.random() < 0.15 and pod["spec"].get("nodeName"):
                    pod["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
            spec: Object = {
                "replicas": len(pods),
                "serviceName": name,
                "selector": {"matchLabels": {"workload": pods[0]["metadata"]["labels"]["workload"]}},
                "template": _template(pods),
            }
            if chance.random() < 0.3:
                spec["podManagementPolicy"] = "Parallel"
            metadata = {"name": name, "namespace": space, "uid": f"uid-{name}"}
            objects.append(
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
            )


def budgets(chance: random.Random, objects: list[Object], _: str) -> None:
    """Budgets with policies about pods that are not ready, over pods some of which are not."""
    for number in range(chance.choice((1, 1, 2))):
        key, value = chance.choice((("app", "a"), ("app", "b"), ("workload", "w0"), ("workload", "w1")))
        spec: Object = {"selector": {"matchLabels": {key: value}}}
        spec |= chance.choice(
            ({"maxUnavailable": 1}, {"minAvailable": 1}, {"minAvailable": 2}, {"maxUnavailable": 2})
        )
        if drawn := chance.choice(("", "AlwaysAllow", "IfHealthyBudget")):
            spec["unhealthyPodEvictionPolicy"] = drawn
        metadata = {"name": f"limit-{number}", "namespace": "default"}
        objects.append(
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
        )
    for item in objects:
        if item["kind"] == "Pod" and item["spec"].get("nodeName") and chance.random() < 0.2:
            item["status"]["conditions"] = [{"type": "Ready", "status": "False"}]


def daemon_sets(chance: random.Random, objects: list[Object], _: str) -> None:
    """A pod on every node that its DaemonSet makes, and a quota for so many pods or a few more."""
    requests = chance.choice(({}, {"cpu": "100m"}, {"cpu": "500m"}))
    labels = {"daemon": "agent"}
    spec: Object = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        "tolerations": [{"operator": "Exists"}],
    }
    made: Object = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default", "uid": "uid-agent"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    nodes = [item["metadata"]["name"] for item in objects if item["kind"] == "Node"]
    objects += [made, *(daemon_pod(made, name) for name in nodes)]
    if chance.random() < 0.8:
        pods = [
            item for item in objects if item["kind"] == "Pod" and item["metadata"]["namespace"] == "default"
        ]
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "most", "namespace": "default"},
                "spec": {"hard": {"pods": str(len(pods) + chance.choice((0, 1, 1, 2, 3)))}},
            }
        )


def daemon_pod(made: Object, name: str) -> Object:
    """The pod of a DaemonSet on a node."""
    pod: Object = copy.deepcopy(made["spec"]["template"])
    owner = {"kind": "DaemonSet", "apiVersion": "apps/v1", "controller": True}
    owner |= {key: made["metadata"][key] for key in ("name", "uid")}
    pod["metadata"] |= {
        "name": f"{owner['name']}-{name}",
        "namespace": made["metadata"]["namespace"],
        "uid": f"uid-{owner['name']}-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [owner],
    }
    pod["spec"]["nodeName"] = name
    return {"apiVersion": "v1", "kind": "Pod", **pod, "status": {"phase": "Running"}}
