"""Manifests applied to a snapshot: what is new is added, what is there is replaced and keeps its identity."""

from dataclasses import fields, replace
from typing import Any, TypeVar

from models.objects.base import ClusterObject, KubeObject, NamespacedObject
from models.snapshot import Snapshot

_S = TypeVar("_S", bound=Snapshot)


def applied(cluster: _S, manifests: Snapshot) -> _S:
    """The cluster after `kubectl apply` of the manifests, before any controller has seen it."""
    changed: dict[str, Any] = {}
    for field in fields(manifests):
        new = getattr(manifests, field.name)
        if field.name == "replaced":
            continue
        if isinstance(new, tuple) and new and isinstance(new[0], KubeObject):
            changed[field.name] = _merged(getattr(cluster, field.name), new)
        elif new is not None and not isinstance(new, tuple):
            changed[field.name] = new
    return replace(cluster, **changed)


def _merged(there: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    found = {item.key: item for item in there}
    for item in new:
        found[item.key] = as_applied(item, found[item.key]) if item.key in found else item
    return tuple(found.values())


def as_applied(item: KubeObject, earlier: KubeObject) -> KubeObject:
    """The later object as `kubectl apply` leaves it: with the identity and status of the old."""
    both = (NamespacedObject, ClusterObject)
    if not (isinstance(item, both) and isinstance(earlier, both)):
        return item
    identity = {
        "uid": item.metadata.uid or earlier.metadata.uid,
        "creation_timestamp": earlier.metadata.creation_timestamp,
        "owner_references": item.metadata.owner_references or earlier.metadata.owner_references,
    }
    update: dict[str, Any] = {"metadata": item.metadata.model_copy(update=identity)}
    if "status" in earlier.model_fields_set and "status" not in item.model_fields_set:
        update["status"] = getattr(earlier, "status", None)
    return item.model_copy(update=update)
