"""Whether the claims of pods that stand can all have volumes, each its own, that nodes reach and attach.

Written from what Kubernetes says of claims that wait for their first pod, for what `wide_volumes` draws.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tests.truth.manifests import Object

Labels = Mapping[str, str]


def lacks_volumes(objects: Sequence[Object], node_of: Mapping[str, str]) -> bool:
    """Whether no choice of volumes serves all pods, by `namespace/name`, on their nodes."""
    claims = {_key(item): item for item in objects if item["kind"] == "PersistentVolumeClaim"}
    labels = {
        item["metadata"]["name"]: item["metadata"]["labels"] for item in objects if item["kind"] == "Node"
    }
    nodes: dict[str, list[Labels]] = {}
    for pod in objects:
        if pod["kind"] == "Pod" and _key(pod) in node_of:
            for name in _claims_of(pod):
                claim = claims.get(name)
                if claim is not None and "volumeName" not in claim["spec"]:
                    nodes.setdefault(name, []).append(labels[node_of[_key(pod)]])
    return not _all_served([_options(objects, claims[name], found) for name, found in nodes.items()])


def overattached(objects: Sequence[Object], node_of: Mapping[str, str]) -> bool:
    """Whether pods bring volumes to a node that attaches more of a driver with them than it can."""
    handles = {
        item["metadata"]["name"]: (item["spec"]["csi"]["driver"], item["spec"]["csi"]["volumeHandle"])
        for item in objects
        if item["kind"] == "PersistentVolume" and "csi" in item["spec"]
    }
    bound = {
        _key(item): handles[item["spec"]["volumeName"]]
        for item in objects
        if item["kind"] == "PersistentVolumeClaim" and item["spec"].get("volumeName") in handles
    }
    before: dict[str, set[tuple[str, str]]] = defaultdict(set)
    after: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for pod in (item for item in objects if item["kind"] == "Pod"):
        used = {bound[name] for name in _claims_of(pod) if name in bound}
        there = pod["spec"].get("nodeName")
        if there and pod.get("status", {}).get("phase") not in {"Succeeded", "Failed"}:
            before[there] |= used
        elif not there and _key(pod) in node_of:
            after[node_of[_key(pod)]] |= used
    return any(
        len({one for one in before[name] | after[name] if one[0] == driver["name"]})
        > max(driver["allocatable"]["count"], len({one for one in before[name] if one[0] == driver["name"]}))
        for item in objects
        if item["kind"] == "CSINode"
        for driver in item["spec"]["drivers"]
        for name in [item["metadata"]["name"]]
    )


def _all_served(asked: Sequence[Sequence[str]], taken: frozenset[str] = frozenset()) -> bool:
    if not asked:
        return True
    open_to_it = [option for option in asked[0] if option not in taken]
    # What is made for a claim is taken from no other.
    return any(_all_served(asked[1:], taken | ({option} - {""})) for option in open_to_it)


def _options(objects: Sequence[Object], claim: Object, nodes: Sequence[Labels]) -> list[str]:
    """The volumes that a claim may get, and an empty name where its class makes one."""
    spec = claim["spec"]
    found = [
        item["metadata"]["name"]
        for item in objects
        if item["kind"] == "PersistentVolume"
        and item["status"]["phase"] == "Available"
        and item["spec"]["storageClassName"] == spec["storageClassName"]
        and {*spec["accessModes"]} <= {*item["spec"]["accessModes"]}
        and all(_reaches(item, labels) for labels in nodes)
    ]
    return [*found, *([""] if all(_is_made(objects, spec, labels) for labels in nodes) else [])]


def _is_made(objects: Sequence[Object], spec: Mapping[str, Any], labels: Labels) -> bool:
    for item in objects:
        if item["kind"] == "StorageClass" and item["metadata"]["name"] == spec["storageClassName"]:
            if item["provisioner"] == "kubernetes.io/no-provisioner":
                return False
            terms = [term["matchLabelExpressions"] for term in item.get("allowedTopologies") or ()]
            return not terms or any(
                all(labels.get(one["key"]) in one["values"] for one in term) for term in terms
            )
    return False


def _reaches(volume: Object, labels: Labels) -> bool:
    affinity = volume["spec"].get("nodeAffinity")
    terms = affinity["required"]["nodeSelectorTerms"] if affinity else []
    return not terms or any(
        all(labels.get(one["key"]) in one["values"] for one in term["matchExpressions"]) for term in terms
    )


def _claims_of(pod: Object) -> list[str]:
    space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.append(f"{space}/{volume['persistentVolumeClaim']['claimName']}")
        elif "ephemeral" in volume:
            found.append(f"{space}/{name}-{volume['name']}")
    return found


def _key(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"
