"""Small clusters of workloads for `planner capacity`, drawn at random."""

from __future__ import annotations

import copy
from collections import defaultdict
from random import Random
from typing import Any

from models import Cluster
from planner import simulate
from planner.documents.capacity import WorkloadCapacity
from planner.documents.plan import Decision
from planner.whatif import scale
from tests.builders import (
    HOST,
    LONG_AGO,
    ZONE,
    Object,
    claim,
    labelled,
    node,
    pod,
    priority_class,
    quota,
    replica,
    revision,
    scaled,
    spread,
    term,
)
from tests.tiny import tiny


def workloads(number: int) -> list[Object]:
    """A tiny cluster with a ReplicaSet behind every owner, which asks for a replica or two more at times."""
    objects, draw = tiny(number), Random(number)
    pods: dict[str, list[Object]] = defaultdict(list)
    for item in objects:
        for owner in item["metadata"].get("ownerReferences", ()) if item["kind"] == "Pod" else ():
            pods[owner["name"]].append(item)
    # Without a time of its own a pod that waits comes in the order of the files, as replicas to come do.
    more = (0, 0, 0, 1, 2)
    return [*objects, *(replica_set(name, found, draw.choice(more)) for name, found in pods.items())]


def replica_set(name: str, pods: list[Object], more: int = 0) -> Object:
    """The owner of some pods, the first of them its template; it asks for so many more than there are."""
    template = copy.deepcopy(pods[0])
    spec = {key: value for key, value in template["spec"].items() if key != "nodeName"}
    live = sum("deletionTimestamp" not in pod["metadata"] for pod in pods)
    labels: dict[str, Any] = {**template["metadata"].get("labels", {}), "set": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": template["metadata"].get("namespace", "default"),
            "uid": pods[0]["metadata"]["ownerReferences"][0]["uid"],
        },
        "spec": {
            "replicas": live + more,
            "selector": {"matchLabels": {"set": name}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


_KINDS = ("Deployment", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")


def mixed(seed: int) -> list[Object]:
    """A few nodes, a few workloads with pods on them or pending, quotas, and priorities."""
    draw = Random(seed)
    machines = [_node(draw, f"n{number}") for number in range(draw.randint(1, 6))]
    names = [item["metadata"]["name"] for item in machines]
    objects: list[Object] = [*machines]
    for number in range(draw.randint(1, 4)):
        objects += _workload(draw, f"w{number}", names)
    if draw.random() < 0.25:
        hard = draw.choice(({"pods": draw.randint(1, 12)}, {"requests.cpu": draw.choice(("3", "6", "12"))}))
        objects.append(quota(hard, "most"))
    return objects


def two_constraints(seed: int) -> list[Object]:
    """Nodes of which some are full, and workloads that spread over nodes and something else."""
    draw = Random(seed)
    machines = [_node(draw, f"n{number}") for number in range(draw.randint(3, 8))]
    objects: list[Object] = [*machines]
    for machine in machines:
        if draw.random() < 0.4:
            name = f"fills-{machine['metadata']['name']}"
            room = machine["status"]["allocatable"]["cpu"]
            objects.append(pod(name, on=machine["metadata"]["name"], cpu=room, owner=f"ReplicaSet/{name}"))
    for number in range(draw.randint(1, 2)):
        name = f"w{number}"
        keys = draw.choice(((HOST,), (ZONE, HOST), (ZONE, HOST), (HOST, "disk")))
        rules = [spread(key, draw.randint(1, 4), draw.choice((name, name, "w0"))) for key in keys]
        for rule in rules:
            rule.update(draw.choice(({}, {}, {"minDomains": draw.randint(1, 4)})))
            rule.update(draw.choice(({}, {"nodeTaintsPolicy": "Honor"}, {"nodeAffinityPolicy": "Ignore"})))
        words: dict[str, Any] = {"only_on": [labelled("disk", "In", "ssd")]} if draw.random() < 0.3 else {}
        owner = scaled("ReplicaSet", name, 0, cpu=draw.choice(("250m", "500m")), spread=rules, **words)
        there = draw.randint(0, 4)
        owner["spec"]["replicas"] = there
        nodes = [machine["metadata"]["name"] for machine in machines]
        made = [replica(owner, f"{name}-{index}", draw.choice(nodes)) for index in range(there)]
        objects += [owner, *made]
    return objects


def _node(draw: Random, name: str) -> Object:
    return node(
        name,
        zone=draw.choice(("x", "y", "z", "x", "y", None)),
        labels={"disk": draw.choice(("ssd", "hdd"))},
        taints=["dedicated=x:NoSchedule"] if draw.random() < 0.2 else [],
        cordoned=draw.random() < 0.07,
        cpu=draw.choice(("1", "2", "4", "8")),
        pods=draw.choice(("2", "3", "6", "110")),
    )


def _workload(draw: Random, name: str, nodes: list[str]) -> list[Object]:
    kind = draw.choice(_KINDS)
    pods = draw.randint(0, 4)
    # A snapshot may lack some of the pods, which are then pending.
    there = pods if draw.random() < 0.6 else draw.randint(0, pods)
    owner = scaled(kind, name, pods, **_words(draw, name))
    maker = revision(owner) if kind == "Deployment" and there else owner
    on = [draw.choice([*nodes, ""]) if draw.random() < 0.3 else draw.choice(nodes) for _ in range(there)]
    names = [f"{name}-{number}" for number in range(there)]
    made = [replica(maker, pod, place) for pod, place in zip(names, on, strict=True)]
    return [owner, *([maker] if maker is not owner else []), *made]


def _words(draw: Random, name: str) -> dict[str, Any]:
    words: dict[str, Any] = {"cpu": draw.choice(("250m", "500m", "1", "2"))}
    if draw.random() < 0.5:
        keys = draw.choice(((ZONE,), (ZONE,), (HOST,), (ZONE, HOST)))
        words["spread"] = [spread(key, draw.choice((1, 1, 2)), draw.choice((name, "w0"))) for key in keys]
    if draw.random() < 0.2:
        words["apart"] = [term(draw.choice((ZONE, HOST)), draw.choice((name, "w0")))]
    if draw.random() < 0.15:
        words["near"] = [term(draw.choice((ZONE, HOST)), draw.choice((name, "w0")))]
    if draw.random() < 0.15:
        words["ports"] = [80]
    if draw.random() < 0.15:
        words["only_on"] = [labelled("disk", "In", "ssd")]
    if draw.random() < 0.3:
        words["priority"] = draw.choice((5, 5, -1))
    return words


def under_quotas(seed: int) -> list[Object]:
    """A few nodes, and two namespaces of workloads under quotas, of which some pods are refused at times."""
    draw = Random(seed)
    machines = [_node(draw, f"n{number}") for number in range(draw.randint(1, 4))]
    names = [item["metadata"]["name"] for item in machines]
    objects = [*machines, priority_class("high", 5), priority_class("low", -1)]
    for number in range(draw.randint(1, 5)):
        objects += _varied(draw, _workload(draw, f"w{number}", names), draw.choice(("default", "other")))
    for number in range(draw.randint(1, 4)):
        found = quota(_hard(draw), f"q{number}", **draw.choice((*[{}] * 6, *_SCOPES)))
        found["metadata"]["namespace"] = draw.choice(("default", "default", "other"))
        objects.append(found)
    if draw.random() < 0.2:
        bounds = {"type": "Container", **draw.choice(_BOUNDS)}
        metadata = {"name": "bounds", "namespace": "default"}
        objects.append(
            {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": [bounds]}}
        )
    return objects


_ENTRIES = {
    **dict.fromkeys(("pods", "count/pods"), ("0", "2", "5", "8", "12", "60")),
    **dict.fromkeys(("cpu", "requests.cpu", "limits.cpu"), ("500m", "2", "3500m", "6", "12", "100")),
    "requests.memory": ("1Gi", "5Gi"),
    "count/replicasets.apps": ("1",),
    "persistentvolumeclaims": ("1", "3"),
    "requests.storage": ("2Gi",),
}
_SCOPES: tuple[dict[str, Any], ...] = (
    {"scopes": ["BestEffort"]},
    {"scopes": ["NotBestEffort"]},
    {"scopes": ["Terminating"]},
    {"scopes": ["NotTerminating"]},
    {"scopes": ["PriorityClass"]},
    *(
        {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", **chosen}]}}
        for chosen in (
            {"operator": "In", "values": ["high"]},
            {"operator": "NotIn", "values": ["low"]},
            {"operator": "DoesNotExist"},
        )
    ),
)
_BOUNDS: tuple[dict[str, Any], ...] = (
    {"default": {"cpu": "2"}, "defaultRequest": {"cpu": "500m", "memory": "1Gi"}},
    {"max": {"cpu": "1"}},
)


def _hard(draw: Random) -> Object:
    return {name: draw.choice(_ENTRIES[name]) for name in draw.sample([*_ENTRIES], draw.choice((1, 1, 2)))}


def _varied(draw: Random, objects: list[Object], namespace: str) -> list[Object]:
    """A workload and its pods in a namespace, with other requests, a class or a deadline, and other ends."""
    claims = draw.random() < 0.15 and objects[0]["kind"] == "StatefulSet"
    resources, more = draw.choice(_RESOURCES), draw.choice(_MORE)
    for item in objects:
        item["metadata"]["namespace"] = namespace
        spec = item["spec"] if item["kind"] == "Pod" else item["spec"]["template"]["spec"]
        spec.update(more)
        if more:
            spec.pop("priority", None)
        if resources is not None:
            spec["containers"] = [{**spec["containers"][0], "resources": resources}]
        if item["kind"] == "Pod" and draw.random() < 0.15:
            item["metadata"]["deletionTimestamp"] = LONG_AGO
        elif item["kind"] == "Pod" and draw.random() < 0.1:
            item["status"]["phase"] = draw.choice(("Failed", "Succeeded"))
    if claims:
        made = claim("data", size=draw.choice(("1Gi", "3Gi")))
        objects[0]["spec"]["volumeClaimTemplates"] = [{key: made[key] for key in ("metadata", "spec")}]
    return objects


_RESOURCES: tuple[Object | None, ...] = (
    *[None] * 6,
    {},
    {"limits": {"cpu": "1"}},
    {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"cpu": "500m"}},
)
_MORE: tuple[Object, ...] = (
    *[{}] * 5,
    {"priorityClassName": "high"},
    {"priorityClassName": "low"},
    {"activeDeadlineSeconds": 600},
)


def left_over(found: Cluster, row: WorkloadCapacity, more: int) -> list[Decision]:
    """The new replicas that get no node, or evict others, when the workload is scaled by so many."""
    known = {pod.key for pod in found.pods}
    scaled = scale(found, f"{row.workload}.{row.namespace}", row.replicas + more)
    decisions = simulate(scaled).decisions
    return [d for d in decisions if d.pod not in known and (d.node is None or d.victims)]


def ordinals_taken(seed: int) -> list[Object]:
    """A StatefulSet on a few nodes, and pods with names that its replicas have or are to have."""
    draw = Random(seed)
    machines = [
        node(f"n{number}", cpu=str(draw.randint(1, 4)), pods=str(draw.randint(2, 6)))
        for number in range(draw.randint(1, 3))
    ]
    apart = [term(HOST, "st")] if draw.random() < 0.2 else []
    found = scaled("StatefulSet", "st", draw.randint(0, 3), cpu=str(draw.randint(0, 2)), apart=apart)
    found["spec"]["podManagementPolicy"] = draw.choice(["OrderedReady", "Parallel"])
    found["spec"]["ordinals"] = {"start": draw.choice([0, 0, 1, 2])}
    pods = []
    for ordinal in draw.sample(range(8), draw.randint(0, 4)):
        words = {} if draw.random() < 0.1 else {"owner": "StatefulSet/st"}
        if draw.random() < 0.1:
            words["phase"] = "Failed"
        on = draw.choice(machines)["metadata"]["name"]
        gone = draw.random() < 0.5
        pods.append(pod(f"st-{ordinal}", on, app="st", cpu=str(draw.randint(0, 2)), gone=gone, **words))
    # Without a status no controller has numbered the pods.
    return [*machines, found | {"status": {}} if draw.random() < 0.7 else found, *pods]


def shared_out(seed: int) -> list[Object]:
    """A paused Deployment whose ReplicaSets have templates of their own, and what else takes room."""
    draw = Random(seed)
    objects: list[Object] = [
        node(f"n{n}", cpu=draw.choice(("4", "8", "12"))) for n in range(draw.randint(2, 3))
    ]
    sizes = [draw.randint(0, 3) for _ in range(draw.randint(2, 3))]
    paused = scaled("Deployment", "web", sum(sizes), cpu="1")
    paused["spec"]["paused"] = True
    objects.append(paused)
    for number, size in enumerate(sizes, start=1):
        words: dict[str, Any] = {"cpu": str(draw.randint(1, 3)), "priority": draw.choice((0, 0, 5, 10))}
        if draw.random() < 0.3:
            words["spread"] = [spread(HOST, 1, "web")]
        owner = revision(scaled("Deployment", "web", size, **words), number)
        objects += [
            owner,
            *(replica(owner, f"web-{number}-{n}", draw.choice(("n0", "n1"))) for n in range(size)),
        ]
    if draw.random() < 0.4:
        objects.append(pod("other", "n1", cpu="4", priority=draw.choice((0, 3, 7))))
    if draw.random() < 0.4:
        objects.append(pod("waits", cpu="2", priority=draw.choice((0, 3, 7)), created=LONG_AGO))
    return objects


def web(replicas: int, **words: Any) -> Object:
    """A Deployment of the name; the words are those of a pod."""
    return scaled("Deployment", "web", replicas, **words)
