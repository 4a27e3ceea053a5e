"""What volume claims are bound to, and what they become when their pod gets a node.

Kubernetes 1.34: a claim of a class with WaitForFirstConsumer is bound when its pod is placed: to the
smallest fitting volume there is on that node, or else to one that the class provisions for the node.
Until that volume exists the claim belongs to the node that was selected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from models.cluster import Cluster
from models.controllers.templates import stand_in_uid
from models.objects.annotations import BIND_COMPLETED, DEFAULT_CLASS, SELECTED_NODE
from models.objects.pod import Pod
from models.objects.selectors import NodeSelector
from models.objects.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from models.snapshot import Snapshot
from planner.problem.nodes import Mask, NodeAxis

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


class ClaimUse(NamedTuple):
    """One volume of a pod that is a claim; ephemeral ones are made for the pod."""

    key: str
    ephemeral: bool


class VolumeChoice(NamedTuple):
    """What an unbound claim gets on a node: a volume, or (None) a provisioned one."""

    claim: str
    volume: str | None
    node: int


def claims_of(pod: Pod) -> Iterable[ClaimUse]:
    # Most pods mount none, and every one of them is asked by several families.
    return _claims_of(pod) if pod.spec.volumes else ()


def _claims_of(pod: Pod) -> Iterator[ClaimUse]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}", False)
        elif volume.ephemeral is not None:
            yield ClaimUse(f"{pod.namespace}/{pod.name}-{volume.name}", True)


def volume_keys(pod: Pod) -> Iterator[Hashable]:
    """What of a pod's volumes decides on its place: claims, and disks named in the pod itself."""
    yield from claims_of(pod)
    for volume in pod.spec.volumes:
        disks = (volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.rbd, volume.iscsi)
        yield from (disk for disk in disks if disk is not None)
        if volume.csi is not None:
            yield volume.csi.driver
        if volume.image is not None:
            yield volume.image.reference


class Claims:
    """All claims and volumes, and which of them were bound since the snapshot."""

    def __init__(
        self, cluster: Cluster, nodes: NodeAxis, pods: Sequence[Pod], own: Collection[str] = ()
    ) -> None:
        """Those of which every pod has its `own` are not bound: that of the next one is open."""
        self._nodes = nodes
        self._pods = pods
        self._own = own
        self.by_key = {claim.key: claim for claim in cluster.persistent_volume_claims}
        self._unseen = cluster.is_unseen("persistentvolumeclaims")
        self._classes_unseen = cluster.is_unseen("storageclasses")
        self.volumes_unseen = cluster.is_unseen("persistentvolumes")
        self.volumes = {volume.name: volume for volume in cluster.persistent_volumes}
        self.classes = {found.name: found for found in cluster.storage_classes}
        self._default_class = _default_class(cluster.storage_classes)
        self._by_class: dict[str, list[PersistentVolume]] = defaultdict(list)
        for volume in sorted(cluster.persistent_volumes, key=lambda volume: volume.name):
            self._by_class[volume.spec.storage_class_name].append(volume)
        self._taken: dict[str, str] = {}
        self._given: dict[str, PersistentVolume] = {}
        self._selected: dict[str, int] = {}
        self._journal: list[VolumeChoice] = []
        self._reachable: dict[str, Mask] = {}

    @property
    def bindings(self) -> tuple[VolumeChoice, ...]:
        """What claims were given since the snapshot, in order."""
        return tuple(self._journal)

    def missing(self, name: str) -> str:
        """What is to be said of a claim that is not here: that it is not found, or may not be listed."""
        if self._unseen:
            return f'unknown: persistentvolumeclaim "{name}" may not be listed'
        return f'persistentvolumeclaim "{name}" not found'

    def is_class_unseen(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a claim's class was not listed, and so it is not known when the claim is bound."""
        return self._classes_unseen and self.storage_class(claim) is None

    def mounted_by(self, pod: Pod) -> Iterator[PersistentVolumeClaim]:
        """The claims that a pod mounts, as far as they are here."""
        return (self.by_key[use.key] for use in claims_of(pod) if use.key in self.by_key)

    def is_unknown(self, pod: Pod) -> bool:
        """Whether it is open where the claims of a pod may be used: what decides may not be listed."""
        return any(self._is_unknown(self.by_key.get(use.key)) for use in claims_of(pod))

    def _is_unknown(self, claim: PersistentVolumeClaim | None) -> bool:
        if claim is None:
            return self._unseen
        if self.is_bound(claim):
            return self.volumes_unseen and claim.spec.volume_name not in self.volumes
        return self.volumes_unseen or self.is_class_unseen(claim)

    def is_bound(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a claim has its volume for good."""
        static = BIND_COMPLETED in claim.metadata.annotations or claim.status.phase == "Bound"
        return bool(claim.spec.volume_name) and static

    def storage_class(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        return self.classes.get(self._class_name(claim))

    def _class_name(self, claim: PersistentVolumeClaim) -> str:
        return _class_name(claim, self._default_class)

    def waits(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a claim is bound only when its pod is placed."""
        found = self.storage_class(claim)
        return found is not None and found.volume_binding_mode == "WaitForFirstConsumer"

    def is_served_at_once(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a claim that the cluster does not have yet is bound as soon as it is there."""
        found = self.storage_class(claim)
        return found is not None and _is_served_at_once(claim, found)

    def reachable(self, volume: PersistentVolume) -> Mask:
        found = self._reachable.get(volume.name)
        if found is None:
            affinity = volume.spec.node_affinity
            wanted = None if affinity is None else affinity.required
            found = self._nodes.every if wanted is None else self._labelled(wanted)
            self._reachable[volume.name] = found
        return found

    def _labelled(self, wanted: NodeSelector) -> Mask:
        """The nodes that match by their labels: a volume's node affinity is not shown their names.

        Kubernetes passes over the `matchFields` of a term; one that has nothing else matches every node.
        """
        found = self._nodes.none
        for term in wanted.node_selector_terms:
            by_labels = term.model_copy(update={"match_fields": ()})
            names_only = by_labels.empty and not term.empty
            found = found | (self._nodes.every if names_only else self._nodes.matching_term(by_labels))
        return found

    def selected_node(self, claim: PersistentVolumeClaim) -> int | None:
        """The node for which a claim is being provisioned, by position; -1 when it is not in the snapshot."""
        chosen = self._selected.get(claim.key)
        if chosen is None and (name := claim.metadata.annotations.get(SELECTED_NODE)):
            chosen = self._nodes.index.get(name, -1)
        return chosen

    def candidates(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """The volumes that could be bound to a waiting claim, the one to take first, first."""
        offered = self._by_class[self._class_name(claim)]
        mine = [volume for volume in offered if self._owner(volume) == claim.key]
        if mine:
            return mine
        free = [volume for volume in offered if self._owner(volume) is None and _suits(volume, claim)]
        return sorted(free, key=lambda volume: volume.spec.capacity.get("storage", 0))

    def _owner(self, volume: PersistentVolume) -> str | None:
        taken = self._taken.get(volume.name)
        if taken is not None:
            return taken
        claim = volume.spec.claim_ref
        return None if claim is None else f"{claim.namespace}/{claim.name}"

    def provisionable(self, claim: PersistentVolumeClaim) -> Mask:
        """The nodes for which the claim's class would make a volume."""
        found = self.storage_class(claim)
        if found is None or not _provisions(found):
            return self._nodes.none
        mask = self._nodes.none if found.allowed_topologies else self._nodes.every
        for term in found.allowed_topologies:
            inside = self._nodes.every
            for expression in term.match_label_expressions:
                inside = inside & self._nodes.column(expression.key).one_of(expression.values)
            mask = mask | inside
        return mask

    def unbound(self, pod: Pod) -> list[PersistentVolumeClaim]:
        """The waiting claims of a pod, smallest first."""
        unbound = (claim for claim in self.mounted_by(pod) if not self.is_bound(claim))
        waiting = filter(self.waits, unbound)
        return sorted(waiting, key=lambda claim: claim.spec.resources.requests.get("storage", 0))

    def given(self, pod: Pod) -> list[PersistentVolume]:
        """The volumes that waiting claims of a pod got since the snapshot."""
        return [self._given[use.key] for use in claims_of(pod) if use.key in self._given]

    def open_claims(self, pod: Pod) -> list[PersistentVolumeClaim]:
        """The waiting claims of a pod for which nothing is decided yet, smallest first."""
        return [
            claim
            for claim in self.unbound(pod)
            if claim.key not in self._given and self.selected_node(claim) is None
        ]

    def stay(self, pod: Pod) -> bool:
        """Whether no claim of a pod is bound when it gets a node."""
        return all(claim.key in self._own for claim in self.open_claims(pod))

    def choose(self, pod: Pod, node: int) -> list[VolumeChoice]:
        waiting = [claim for claim in self.open_claims(pod) if claim.key not in self._own]
        return list(self._choose(waiting, node))

    def _choose(self, waiting: list[PersistentVolumeClaim], node: int) -> Iterator[VolumeChoice]:
        taken: set[str] = set()
        for claim in waiting:
            reaching = (v.name for v in self.candidates(claim) if self.reachable(v)[node])
            volume = next((name for name in reaching if name not in taken), None)
            if volume is not None:
                taken.add(volume)
            # A pod that was bound without asking for its volumes has none provisioned on such a node.
            if volume is not None or self.provisionable(claim)[node]:
                yield VolumeChoice(claim.key, volume, node)

    def fits(self, pod: Pod) -> Mask:
        """The nodes on which every waiting claim of a pod that has none finds or gets a volume."""
        return self._fits(self.unbound(pod))

    def fits_each(self, pod: Pod) -> Mask:
        """The nodes on which each waiting claim of a pod finds or gets one, if its other claims leave it.

        Volumes are only ever taken, so no claim finds one later where none reaches now.  But a claim that
        another pod binds first, elsewhere, no longer takes the volume that this pod's others want.
        """
        mask = self._nodes.every
        for claim in self.unbound(pod):
            mask = mask & self._fits([claim])
        return mask

    def _fits(self, waiting: list[PersistentVolumeClaim]) -> Mask:
        mask = self._nodes.every
        rest = []
        for claim in waiting:
            chosen = self.selected_node(claim)
            if claim.key in self._given:
                continue
            if chosen is not None:
                mask = mask & (np.arange(self._nodes.size) == chosen)
            else:
                rest.append(claim)
        for number, claim in enumerate(rest):
            mask = mask & (self.provisionable(claim) | self._matched(claim, rest[:number]))
        return mask

    def _matched(self, claim: PersistentVolumeClaim, earlier: list[PersistentVolumeClaim]) -> Mask:
        """The nodes with a volume for a claim when the pod's smaller claims choose before it."""
        candidates = self.candidates(claim)
        mask = np.zeros(self._nodes.size, np.bool_)
        for volume in candidates:
            mask |= self.reachable(volume)
        names = {volume.name for volume in candidates}
        if not any(names & {volume.name for volume in self.candidates(other)} for other in earlier):
            return mask
        for node in np.flatnonzero(mask).tolist():
            found = {choice.claim: choice.volume for choice in self._choose([*earlier, claim], node)}
            mask[node] = found.get(claim.key) is not None
        return mask

    def assume(self, pod: int, node: int) -> int:
        """Bind the waiting claims of a pod that goes to a node; how many were bound."""
        if not self._pods[pod].spec.volumes:
            return 0
        choices = self.choose(self._pods[pod], node)
        self.bind(choices)
        return len(choices)

    def bind(self, choices: Sequence[VolumeChoice]) -> None:
        """Give claims what they get; `forget` takes it back."""
        for choice in choices:
            if choice.volume is not None:
                self._taken[choice.volume] = choice.claim
                self._given[choice.claim] = self.volumes[choice.volume]
            else:
                self._selected[choice.claim] = choice.node
        self._journal.extend(choices)

    def forget(self, number: int) -> None:
        """Undo the last bindings."""
        for _ in range(number):
            choice = self._journal.pop()
            if choice.volume is not None:
                del self._taken[choice.volume]
                del self._given[choice.claim]
            else:
                del self._selected[choice.claim]


def _is_served_at_once(claim: PersistentVolumeClaim, found: StorageClass) -> bool:
    immediate = found.volume_binding_mode == "Immediate" and _provisions(found)
    is_new = claim.metadata.uid in ("", stand_in_uid("PersistentVolumeClaim", claim.key))
    return immediate and is_new and not claim.spec.volume_name


def _provisions(found: StorageClass) -> bool:
    return found.provisioner not in ("", _NO_PROVISIONER)


def class_notes(cluster: Snapshot, pending: Iterable[Pod]) -> Iterator[str]:
    """What a reader has to know of the StorageClasses that pending pods need."""
    keys = {use.key for pod in pending for use in claims_of(pod)}
    if not keys or cluster.is_unseen("storageclasses"):
        return
    classes = {found.name: found for found in cluster.storage_classes}
    default = _default_class(cluster.storage_classes)
    missing, at_once = set[str](), set[str]()
    for claim in cluster.persistent_volume_claims:
        if claim.key in keys and not claim.spec.volume_name:
            name = _class_name(claim, default)
            if name and name not in classes:
                missing.add(name)
            elif name and _is_served_at_once(claim, classes[name]):
                at_once.add(name)
    for name in sorted(missing):
        yield (
            f"there is no StorageClass {name}: a claim of this class has to be bound before its pod is "
            "placed; `kubectl get storageclasses` has them"
        )
    for name in sorted(at_once):
        yield (
            f"StorageClass {name} makes a volume as soon as there is a claim: where is not known before, and "
            "pods are taken to reach it from every node for which the class may make one"
        )


def _default_class(classes: Iterable[StorageClass]) -> str:
    """The name of the class of claims that name none; empty without one."""
    return next((one.name for one in classes if one.metadata.annotations.get(DEFAULT_CLASS) == "true"), "")


def _class_name(claim: PersistentVolumeClaim, default: str) -> str:
    """The class a claim names, or the default class where it leaves that open."""
    named = claim.spec.storage_class_name
    return default if named is None else named


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a free volume has what a claim asks for."""
    offer, wanted = volume.spec, claim.spec
    return (
        volume.status.phase == "Available"
        and not volume.metadata.deletion_timestamp
        and offer.capacity.get("storage", 0) >= wanted.resources.requests.get("storage", 0)
        and offer.volume_mode == wanted.volume_mode
        and (offer.volume_attributes_class_name or "") == (wanted.volume_attributes_class_name or "")
        and set(wanted.access_modes) <= set(offer.access_modes)
        and (wanted.selector is None or wanted.selector.matches(volume.metadata.labels))
    )
