"""The devices that pods claim: which ResourceClaims they use, and what is known about each.

Kubernetes: an entry of `spec.resourceClaims` names a claim, or a template from which a claim is made for
the pod and entered in its status.  A pod whose claim does not exist, goes away or belongs to another pod
is not looked at before that changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from models.objects.device import ResourceClaim
from models.objects.pod import Pod
from models.snapshot import Snapshot
from models.words import listed

#: What the API server reserves a claim for at most.
MOST_RESERVATIONS = 256
#: An extended resource of this name stands for the DeviceClass behind the slash.
_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"


class ClaimEntry(NamedTuple):
    """One entry of a pod's `resourceClaims`: the claim that stands for it, or the template of that claim."""

    claim: str | None
    template: str | None


def entries_of(pod: Pod) -> Iterator[ClaimEntry]:
    """The claims of a pod; an entry for which none was needed is left out."""
    made = {status.name: status for status in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_name is not None:
            yield ClaimEntry(f"{pod.namespace}/{entry.resource_claim_name}", None)
        elif entry.resource_claim_template_name is not None:
            template = f"{pod.namespace}/{entry.resource_claim_template_name}"
            if entry.name not in made:
                yield ClaimEntry(None, template)
            elif (name := made[entry.name].resource_claim_name) is not None:
                yield ClaimEntry(f"{pod.namespace}/{name}", template)


def device_keys(pod: Pod) -> Iterator[Hashable]:
    """What of a pod's claims decides on its place: the claims, and the pods for which one may be reserved."""
    yield from entries_of(pod)
    if any(entry.claim is not None for entry in entries_of(pod)):
        yield pod.name, pod.metadata.uid


class DeviceClaims:
    """All claims on devices by key, and the classes behind extended resources."""

    def __init__(self, cluster: Snapshot) -> None:
        self._claims = {claim.key: claim for claim in cluster.resource_claims}
        self._templates = {template.key for template in cluster.resource_claim_templates}
        self.classes = {found.name for found in cluster.device_classes}
        named = {found.spec.extended_resource_name for found in cluster.device_classes}
        #: The extended resources that some DeviceClass stands behind.
        self.extended = {name for name in named if name} | {_CLASS_PREFIX + name for name in self.classes}

    def waits_for(self, pod: Pod) -> str | None:
        """Why the program does not even look at a pod, if so."""
        for entry in entries_of(pod):
            if entry.claim is None:
                if self._templates and entry.template not in self._templates:
                    return f"ResourceClaimTemplate {entry.template} does not exist"
                continue
            claim = self._claims.get(entry.claim)
            if claim is None and self._claims:
                return f"ResourceClaim {entry.claim} does not exist"
            if claim is None:
                continue
            if claim.metadata.deletion_timestamp is not None:
                return f"ResourceClaim {entry.claim} is being deleted"
            if entry.template is not None and not _is_made_for(claim, pod):
                return f"ResourceClaim {entry.claim} was not made for the pod"
        return None

    def claims(self, pod: Pod) -> list[ResourceClaim]:
        """The claims of a pod that exist."""
        return [
            self._claims[entry.claim]
            for entry in entries_of(pod)
            if entry.claim is not None and entry.claim in self._claims
        ]

    def go_with(self, pod: Pod) -> bool:
        """Whether devices are given back when the pod goes: the claim was made for it, or is all its own."""
        if any(entry.template is not None for entry in entries_of(pod)):
            return True
        users = [{user.uid for user in claim.status.reserved_for} for claim in self.claims(pod)]
        return any(several == {pod.metadata.uid} for several in users)

    def unallocated(self, pod: Pod) -> Iterator[str]:
        """The claims of a pod, made or to be made, whose devices are not known, and why, in words.

        A snapshot without a single claim was taken without them.
        """
        for entry in entries_of(pod):
            if entry.claim is None:
                yield f"the claim of ResourceClaimTemplate {entry.template} is not allocated yet"
            elif entry.claim not in self._claims:
                yield f"ResourceClaim {entry.claim} was not read"
            elif self._claims[entry.claim].status.allocation is None:
                yield f"ResourceClaim {entry.claim} is not allocated yet"

    def without_timestamp(self, pending: Iterable[Pod]) -> Iterator[str]:
        """One note about the claims of pods whose allocation has no timestamp: they cannot be reserved."""
        found = {
            claim.key
            for pod in pending
            if pod.spec.resource_claims
            for claim in self.claims(pod)
            if claim.status.allocation is not None
            and claim.status.allocation.allocation_timestamp is None
            and pod.metadata.uid not in {user.uid for user in claim.status.reserved_for}
        }
        if found:
            yield (
                "kube-scheduler fails to reserve claims without an allocationTimestamp, "
                f"such as {min(found)}: pods that use them are decided as if it could"
            )

    def notes(self, pending: Iterable[Pod]) -> Iterator[str]:
        """One note about all pods that are left undecided because their devices are not allocated."""
        looked_at = (pod for pod in pending if pod.spec.resource_claims and self.waits_for(pod) is None)
        waiting = [(pod.key, claim) for pod in looked_at for claim in self.unallocated(pod)]
        if waiting:
            pods = len({pod for pod, _ in waiting})
            named = listed(f"{pod}: {claim}" for pod, claim in waiting)
            left = "1 pending pod is left" if pods == 1 else f"{pods} pending pods are left"
            yield f"{left} undecided, for devices are not judged ({named})"

    def missing_class(self, claim: ResourceClaim) -> str | None:
        """kube's words for the first request of a claim whose class does not exist."""
        for request, name in _requested_classes(claim):
            if name not in self.classes:
                return f"request {request}: device class {name} does not exist"
        return None


def _requested_classes(claim: ResourceClaim) -> Iterator[tuple[str, str]]:
    """Every request of a claim by its name, with the class that it asks for."""
    for request in claim.spec.devices.requests:
        if request.first_available:
            yield from (
                (f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available
            )
        else:
            yield request.name, (request.exactly or request).device_class_name


def _is_made_for(claim: ResourceClaim, pod: Pod) -> bool:
    owner = claim.metadata.controller
    return owner is not None and (owner.uid == pod.metadata.uid if owner.uid else owner.name == pod.name)
