"""Tiny clusters of which the snapshot does not tell whether some nodes accept a pod, and what may be true.

Three things are left open: whether the devices behind an extended resource are on a node, where the devices
of a claim are that is not allocated, and what there is of kinds that the reader had no right to list.  A
completion is the same cluster with all of that known, in one of the ways in which it may be.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from tests.builders import ZONE, Object, claim, labelled, volume
from tests.planner.capacity_clusters import replica_set
from tests.planner.test_undecided import CLAIM, CLASS, GPU
from tests.planner.test_unseen import origin
from tests.tiny import tiny

#: The kinds that may not be listed, of which one is drawn.
_UNSEEN = ("persistentvolumeclaims", "persistentvolumes", "storageclasses")
_MOST_DEVICES = 20


class Undecided(NamedTuple):
    """A snapshot, and what is left open in it: `resource`, `claim`, or a kind that may not be listed."""

    objects: list[Object]
    topic: str


def drawn(number: int) -> Undecided:
    """The cluster of a number; some of its pods ask for what is not known.

    Its pods have the ReplicaSets that they name.
    """
    draw = Random(f"undecided {number}")
    objects = tiny(number, nodes=4, pods=7)
    topic = draw.choice(("resource", "resource", "claim", *_UNSEEN))
    names = {_kind_of(item) for item in objects if item["kind"] == "Pod"}
    asking = {name for name in sorted(names) if draw.random() < 0.6} or {min(names)}
    pods = [item for item in objects if item["kind"] == "Pod" and _kind_of(item) in asking]
    if topic == "resource":
        _ask_for_devices(draw, objects, pods)
    elif topic == "claim":
        _claim_devices([pod for pod in pods if not pod["spec"].get("nodeName")])
        objects += [copy.deepcopy(CLASS), copy.deepcopy(CLAIM)]
    else:
        objects += [origin(topic), *_volumes(draw, pods, topic)]
    return Undecided(_with_workloads(objects), topic)


def _kind_of(pod: Object) -> str:
    """What pods have in common that come from one template."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return f"{pod['metadata'].get('ownerReferences')}{pod['metadata']['labels']}{spec}"


def _ask_for_devices(draw: Random, objects: list[Object], pods: list[Object]) -> None:
    for pod in pods:
        pod["spec"]["containers"][0]["resources"]["requests"][GPU] = "1"
    for item in objects:
        if item["kind"] == "Node" and draw.random() < 0.5:
            item["status"]["allocatable"][GPU] = draw.choice(("1", "2", "9"))
    objects.append(copy.deepcopy(CLASS))


def _claim_devices(pods: list[Object]) -> None:
    for pod in pods:
        pod["spec"]["resourceClaims"] = [{"name": "g", "resourceClaimName": "one"}]


def _volumes(draw: Random, pods: list[Object], topic: str) -> list[Object]:
    """A claim for each pod that asks; of kinds that may not be listed there is nothing."""
    found: list[Object] = []
    bound = topic == "persistentvolumes" or (topic == "persistentvolumeclaims" and draw.random() < 0.7)
    for pod in pods:
        name = f"data-{pod['metadata']['name']}"
        pod["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
        if topic != "persistentvolumeclaims":
            is_bound = bound or bool(pod["spec"].get("nodeName"))
            found.append(_claim(name, bound=is_bound))
            if is_bound and topic == "storageclasses":
                found.append(_volume(name, ()))
    return found


def _claim(name: str, *, bound: bool) -> Object:
    return claim(name, f"pv-{name}" if bound else "", storageClassName="fast")


def _volume(name: str, zones: Sequence[str]) -> Object:
    """The volume that a claim is bound to, reachable in these zones, or everywhere."""
    mine = {"name": name, "namespace": "default"}
    return volume(f"pv-{name}", zones, size="1Gi", storageClassName="fast", claimRef=mine)


def completed(found: Undecided, draw: Random) -> list[Object]:
    """The same cluster with all known."""
    objects = copy.deepcopy([item for item in found.objects if item["kind"] != "SnapshotOrigin"])
    if found.topic == "resource":
        return _with_devices(objects, draw)
    if found.topic == "claim":
        return _with_allocation(objects, draw)
    return [*objects, origin(), *_with_volumes(objects, found.topic, draw)]


def _with_devices(objects: list[Object], draw: Random) -> list[Object]:
    """Every node that had none of the resource has as much as its pods use, and at times more."""
    used: dict[str, int] = {}
    for item in objects:
        if item["kind"] == "Pod" and GPU in item["spec"]["containers"][0]["resources"]["requests"]:
            on = item["spec"].get("nodeName", "")
            used[on] = used.get(on, 0) + 1
    for item in objects:
        if item["kind"] == "Node" and GPU not in item["status"]["allocatable"]:
            more = draw.choice((0, 0, 1, 2, _MOST_DEVICES))
            item["status"]["allocatable"][GPU] = str(used.get(item["metadata"]["name"], 0) + more)
    return [item for item in objects if item["kind"] != "DeviceClass"]


def _with_allocation(objects: list[Object], draw: Random) -> list[Object]:
    """The claim has its devices, and they can be used on some nodes."""
    names = [item["metadata"]["name"] for item in objects if item["kind"] == "Node"]
    chosen = draw.sample(names, draw.randint(1, len(names)))
    field = {"key": "metadata.name", "operator": "In", "values": chosen[:1]}
    term: Object = {"matchFields": [field]} if len(chosen) == 1 else {}
    if len(chosen) > 1:
        term = labelled("kubernetes.io/hostname", "In", *chosen)
    for item in objects:
        if item["kind"] == "ResourceClaim":
            item["status"] = {
                "allocation": {
                    "nodeSelector": {"nodeSelectorTerms": [term]},
                    "allocationTimestamp": "2026-01-01T00:00:00Z",
                }
            }
    return objects


def _with_volumes(objects: list[Object], topic: str, draw: Random) -> list[Object]:
    """What was not listed: claims bound to volumes in some zones, or a class that makes volumes in some."""
    zones = sorted({item["metadata"]["labels"].get(ZONE, "") for item in objects if item["kind"] == "Node"})
    zones = [zone for zone in zones if zone]
    found: list[Object] = []
    if topic == "storageclasses" or draw.random() < 0.3:
        allowed = [{"key": ZONE, "values": draw.sample(zones, draw.randint(1, len(zones)))}] if zones else []
        mode = draw.choice(("WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"))
        found.append(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "fast"},
                "provisioner": "example.com/disks",
                "volumeBindingMode": mode,
                **({"allowedTopologies": [{"matchLabelExpressions": allowed}]} if allowed else {}),
            }
        )
    if topic == "storageclasses":
        return found
    for item in objects:
        if item["kind"] == "Pod" and item["spec"].get("volumes"):
            name = item["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
            found += [_volume(name, draw.sample(zones, draw.randint(0, len(zones))))]
            if topic == "persistentvolumeclaims":
                found.append(_claim(name, bound=True))
    return found


def _with_workloads(objects: list[Object]) -> list[Object]:
    """The same with the ReplicaSets that its pods name."""
    pods: dict[str, list[Object]] = {}
    for item in objects:
        for owner in item["metadata"].get("ownerReferences", ()) if item["kind"] == "Pod" else ():
            pods.setdefault(owner["name"], []).append(item)
    return [*objects, *(replica_set(name, several) for name, several in pods.items())]
