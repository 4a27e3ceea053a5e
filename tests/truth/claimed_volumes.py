"""What claims of volumes allow, read from manifests: what they are bound to, may get, and what nodes attach.

Written from what Kubernetes says of PersistentVolumeClaims; shares no line with the planner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.truth import manifests
from tests.truth.manifests import Object

_SELECTED = "volume.kubernetes.io/selected-node"
_TODAY = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_ZONES = (*_TODAY, *_TODAY.values())


class Use(NamedTuple):
    """A claim by `namespace/name`, and whether it is made for the pod."""

    key: str
    ephemeral: bool


@dataclass(frozen=True)
class Bindings:
    """What waiting claims got since the snapshot: a volume that was there, or one made for a node."""

    volumes: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)


class Volumes:
    """The claims, volumes, classes and limits of a cluster."""

    def __init__(self, objects: Sequence[Object]) -> None:
        def of(kind: str) -> Iterator[Object]:
            return (item for item in objects if item["kind"] == kind)

        self._nodes = {item["metadata"]["name"]: item for item in of("Node")}
        self.claims = {key_of(item): item for item in of("PersistentVolumeClaim")}
        self._volumes = {item["metadata"]["name"]: item for item in of("PersistentVolume")}
        self._classes = {item["metadata"]["name"]: item for item in of("StorageClass")}
        self._users = Counter(use.key for pod in of("Pod") for use in uses(pod))
        self.limits = {
            (item["metadata"]["name"], driver["name"]): driver["allocatable"]["count"]
            for item in of("CSINode")
            for driver in item["spec"]["drivers"]
            if item["metadata"]["name"] in self._nodes and driver.get("allocatable")
        }

    # VolumeRestrictions

    def excluded(self, pod: Object, others: Sequence[Object], here: Sequence[Object]) -> bool:
        """Whether a claim for one pod is in use anywhere, or a disk of the pod by others on the node."""
        for use in uses(pod):
            claim = self.claims.get(use.key)
            if claim is None:
                if not use.ephemeral:
                    return True
            elif "ReadWriteOncePod" in claim["spec"]["accessModes"] and any(
                use.key == other.key for one in others for other in uses(one)
            ):
                return True
        return any(
            mine["pdName"] == theirs["pdName"] and not (mine.get("readOnly") and theirs.get("readOnly"))
            for mine in _disks(pod)
            for one in here
            for theirs in _disks(one)
        )

    # NodeVolumeLimits

    def attached(self, pod: Object) -> set[tuple[str, str]]:
        """The volumes of a pod by driver; what a claim will get counts for the provisioner of its class."""
        found = set()
        for use in uses(pod):
            claim = self.claims.get(use.key)
            volume = None if claim is None else self._volumes.get(claim["spec"].get("volumeName", ""))
            if volume is not None and "csi" in volume["spec"]:
                found.add((volume["spec"]["csi"]["driver"], volume["spec"]["csi"]["volumeHandle"]))
            elif claim is not None and volume is None and (storage := self._class_of(claim)) is not None:
                found.add((storage["provisioner"], use.key))
        return found

    def is_over(self, pod: Object, node: str, here: Sequence[Object]) -> bool:
        """Whether a pod brings volumes to a node that cannot attach them beside those of others."""
        mine = self.attached(pod)
        there = {one for other in here for one in self.attached(other)}
        return any(
            of(driver, mine - there) and len(of(driver, mine | there)) > self.limits[node, driver]
            for driver, _ in mine
            if (node, driver) in self.limits
        )

    # VolumeBinding

    def reached(self, pod: Object, node: str, bindings: Bindings | None) -> bool:
        """Whether a node reaches the pod's volumes, and has or gets one for each claim that waits.

        Without bindings pods that share claims may have bound them in any way.
        """
        for use in uses(pod):
            claim = self.claims.get(use.key)
            if claim is None or claim["status"]["phase"] == "Lost" or not manifests.is_live(claim):
                return False
            if self._comes_with_its_pod(claim):
                if not self._is_made(use.key, node):
                    return False
            elif not _is_bound(claim):
                if claim["spec"].get("volumeName") or not self._waits(claim):
                    return False
            elif not self._reaches(claim["spec"]["volumeName"], node):
                return False
        waiting = self._waiting(pod)
        if bindings is None and any(self._users[key] > 1 for key in waiting):
            return all(self._chosen([key], node, Bindings()) is not None for key in waiting)
        return self._chosen(waiting, node, bindings or Bindings()) is not None

    def bound(self, pod: Object, node: str, bindings: Bindings) -> Bindings:
        """The same with what the claims of a pod get when it comes to a node."""
        found = self._chosen(self._waiting(pod), node, bindings) or {}
        made = {claim: node for claim, volume in found.items() if not volume}
        there = {claim: volume for claim, volume in found.items() if volume}
        return Bindings({**bindings.volumes, **there}, {**bindings.nodes, **made})

    def _chosen(self, waiting: Sequence[str], node: str, bindings: Bindings) -> dict[str, str] | None:
        """What each open claim gets, one after the other: a volume, or an empty name for one that is made.

        None where some claim gets none.
        """
        found: dict[str, str] = {}
        for key in waiting:
            if key in bindings.volumes:
                if not self._reaches(bindings.volumes[key], node):
                    return None
            elif (selected := self._selected(key, bindings)) is not None:
                if selected != node:
                    return None
            else:
                taken = {*bindings.volumes.values(), *found.values()}
                free = (name for name in self._candidates(key) if name not in taken)
                volume = next((name for name in free if self._reaches(name, node)), "")
                if not volume and not self._is_made(key, node):
                    return None
                found[key] = volume
        return found

    def serve(self, came: Sequence[tuple[Object, str]]) -> bool:
        """Whether the open claims of pods on their nodes can have volumes, each its own, that all reach."""
        nodes: dict[str, set[str]] = {}
        for pod, node in came:
            for key in self._waiting(pod):
                if self._selected(key, Bindings()) is None:
                    nodes.setdefault(key, set()).add(node)
        options = [
            [name for name in self._candidates(key) if all(self._reaches(name, node) for node in there)]
            for key, there in nodes.items()
            if not all(self._is_made(key, node) for node in there)
        ]
        return _served(options)

    def _waiting(self, pod: Object) -> list[str]:
        """The claims without a volume whose class waits for a pod, the smallest first."""
        found = [use.key for use in uses(pod) if use.key in self.claims]
        waiting = [key for key in found if not _is_bound(self.claims[key]) and self._waits(self.claims[key])]
        return sorted(waiting, key=lambda key: _size(self.claims[key]["spec"]["resources"]["requests"]))

    def _selected(self, key: str, bindings: Bindings) -> str | None:
        """The node for which a volume is made."""
        notes = self.claims[key]["metadata"].get("annotations") or {}
        return bindings.nodes.get(key) or notes.get(_SELECTED)

    def _class_of(self, claim: Object) -> Object | None:
        return self._classes.get(claim["spec"]["storageClassName"])

    def _waits(self, claim: Object) -> bool:
        storage = self._class_of(claim)
        return storage is not None and storage["volumeBindingMode"] == "WaitForFirstConsumer"

    def _comes_with_its_pod(self, claim: Object) -> bool:
        """Whether the cluster does not have a claim yet, and its class makes a volume as soon as it does."""
        storage = self._class_of(claim)
        is_new = not (claim["metadata"].get("uid") or claim["spec"].get("volumeName"))
        return (
            is_new
            and storage is not None
            and storage["volumeBindingMode"] == "Immediate"
            and storage["provisioner"] != "kubernetes.io/no-provisioner"
        )

    def _candidates(self, key: str) -> list[str]:
        """The volumes of a claim's class that it may get, the smallest first; those meant for it, if any."""
        claim = self.claims[key]
        storage = claim["spec"]["storageClassName"]
        there = {
            name: volume
            for name, volume in sorted(self._volumes.items())
            if volume["spec"]["storageClassName"] == storage
        }
        meant = [name for name, volume in there.items() if _meant_for(volume) == key]
        free = [name for name, volume in there.items() if not _meant_for(volume) and _suits(volume, claim)]
        return meant or sorted(free, key=lambda name: _size(self._volumes[name]["spec"]["capacity"]))

    def _reaches(self, volume: str, node: str) -> bool:
        if volume not in self._volumes:
            return False
        asked = (self._volumes[volume]["spec"].get("nodeAffinity") or {}).get("required")
        return manifests.matches(asked, self._nodes[node])

    def _is_made(self, key: str, node: str) -> bool:
        """Whether a claim's class makes volumes for a node."""
        storage = self._class_of(self.claims[key])
        if storage is None or storage["provisioner"] == "kubernetes.io/no-provisioner":
            return False
        labels = self._nodes[node]["metadata"]["labels"]
        terms = [term["matchLabelExpressions"] for term in storage.get("allowedTopologies") or ()]
        return not terms or any(
            all(labels.get(one["key"]) in one["values"] for one in term) for term in terms
        )

    # VolumeZone

    def lies_in_zone(self, pod: Object, node: str) -> bool:
        """Whether a node is in the zones with which the pod's volumes are labelled, if it is in any."""
        labels = self._nodes[node]["metadata"]["labels"]
        is_zoned = any(key in labels for key in _ZONES)
        for use in uses(pod):
            claim = self.claims.get(use.key)
            if claim is None:
                continue
            served = self._waits(claim) or self._comes_with_its_pod(claim)
            if not (claim["spec"].get("volumeName") or served):
                return False
            volume = self._volumes.get(claim["spec"].get("volumeName", ""), {"metadata": {}})
            for key, zones in (volume["metadata"].get("labels") or {}).items():
                value = labels.get(key, labels.get(_TODAY.get(key, "")))
                if is_zoned and key in _ZONES and value not in zones.split("__"):
                    return False
        return True


def uses(pod: Object) -> Iterator[Use]:
    """The claims that a pod mounts."""
    space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield Use(f"{space}/{volume['persistentVolumeClaim']['claimName']}", False)
        elif "ephemeral" in volume:
            yield Use(f"{space}/{name}-{volume['name']}", True)


def of(driver: str, attached: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the volumes that a driver attaches."""
    return {one for one in attached if one[0] == driver}


def key_of(item: Object) -> str:
    """`namespace/name`."""
    return f"{item['metadata'].get('namespace', 'default')}/{item['metadata']['name']}"


def _served(options: Sequence[Sequence[str]], taken: frozenset[str] = frozenset()) -> bool:
    """Whether there is one for each, none of them twice."""
    if not options:
        return True
    return any(_served(options[1:], taken | {name}) for name in options[0] if name not in taken)


def _disks(pod: Object) -> Iterator[Object]:
    for volume in pod["spec"].get("volumes") or ():
        if "gcePersistentDisk" in volume:
            yield volume["gcePersistentDisk"]


def _is_bound(claim: Object) -> bool:
    return bool(claim["spec"].get("volumeName")) and claim["status"]["phase"] == "Bound"


def _meant_for(volume: Object) -> str:
    found = volume["spec"].get("claimRef")
    return f"{found['namespace']}/{found['name']}" if found else ""


def _suits(volume: Object, claim: Object) -> bool:
    """Whether a free volume has what a claim asks for."""
    wanted, labels = claim["spec"], volume["metadata"].get("labels") or {}
    return (
        volume["status"]["phase"] == "Available"
        and _size(volume["spec"]["capacity"]) >= _size(wanted["resources"]["requests"])
        and {*wanted["accessModes"]} <= {*volume["spec"]["accessModes"]}
        and ("selector" not in wanted or manifests.selects(wanted["selector"], labels))
    )


def _size(amounts: Mapping[str, str]) -> int:
    return manifests.amount(amounts["storage"])
