"""Manifests applied to a snapshot: what is new is added, what is there is replaced and keeps its identity."""

from collections.abc import Iterator
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from models.admission.chain import Admission, is_new
from models.admission.pods import merge_label_keys
from models.objects.base import ClusterObject, KubeObject, NamespacedObject
from models.objects.custom_workload import is_custom
from models.objects.pod import Pod
from models.objects.workload import ReplicaSet, Workload
from models.snapshot import KUBE_SYSTEM, Snapshot

_S = TypeVar("_S", bound=Snapshot)
#: The field of a snapshot that has the workloads of a kind.
FIELD_OF_KIND = {
    "Deployment": "deployments",
    "Rollout": "deployments",
    "StatefulSet": "stateful_sets",
    "DaemonSet": "daemon_sets",
    "ReplicaSet": "replica_sets",
    "CloneSet": "replica_sets",
    "ReplicationController": "replication_controllers",
    "Job": "jobs",
}
#: The workloads that an apply may roll out, by that field.
ROLLED_OUT = tuple(dict.fromkeys(FIELD_OF_KIND.values()))


def workloads_in(snapshot: Snapshot) -> Iterator[Workload]:
    """The workloads that an apply may roll out, kind by kind."""
    return (item for field in ROLLED_OUT for item in getattr(snapshot, field))


def built_in(running: Snapshot, manifests: Snapshot) -> Iterator[tuple[Workload, Workload | None]]:
    """The workloads of the manifests whose kinds are built in, each with what runs under its name."""
    there = {(item.kind, item.key): item for item in workloads_in(running) if not is_custom(item)}
    for item in workloads_in(manifests):
        if not is_custom(item):
            yield item, there.get((item.kind, item.key))


def with_workload(snapshot: _S, changed: Workload) -> _S:
    """The snapshot with a workload in place of the one of its API version, kind and name."""
    field, same = FIELD_OF_KIND[changed.kind], (changed.api_version, changed.kind, changed.key)
    items: Any = tuple(
        changed if (old.api_version, old.kind, old.key) == same else old for old in getattr(snapshot, field)
    )
    return replace(snapshot, **{field: items})


def applied(cluster: _S, manifests: Snapshot) -> _S:
    """The cluster after `kubectl apply` of the manifests, before any controller has seen it."""
    changed: dict[str, Any] = {}
    for field in fields(manifests):
        new = getattr(manifests, field.name)
        if field.name in {"replaced", "supposed", "removed"}:
            continue
        if isinstance(new, tuple) and new and isinstance(new[0], KubeObject):
            changed[field.name] = _merged(getattr(cluster, field.name), new)
        elif new is not None and not isinstance(new, tuple):
            changed[field.name] = new
    after = replace(cluster, **changed)
    return replace(after, pods=tuple(_admitted(after, manifests))) if manifests.pods else after


def _admitted(after: Snapshot, manifests: Snapshot) -> Iterator[Pod]:
    """All pods, and new ones of the manifests as the API server has them."""
    admission, named = Admission(after), {pod.key for pod in manifests.pods}
    for pod in after.pods:
        new = pod.key in named and is_new(pod)
        yield merge_label_keys(admission.admit(pod)) if new else pod


def _merged(there: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    found = {(item.kind, item.key): item for item in there}
    for item in new:
        same = item.kind, item.key
        found[same] = as_applied(item, found[same]) if same in found else item
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
    if isinstance(item, Workload) and isinstance(earlier, Workload):
        update["spec"] = item.spec.model_copy(update=_kept(item, earlier))
    if isinstance(earlier, Pod) and earlier.node_name:
        # Of what decides on where it is nothing can be changed any more.
        update["spec"] = earlier.spec
    return item.model_copy(update=update)


def _kept(item: Workload, earlier: Workload) -> dict[str, Any]:
    """What stays as it is, as others than kubectl set it, and the later object does not name it."""
    unsaid = {"replicas", "paused"} & earlier.spec.model_fields_set - item.spec.model_fields_set
    return {name: getattr(earlier.spec, name) for name in unsaid}


def made_by_deployments(running: Snapshot, manifests: Snapshot) -> list[ReplicaSet]:
    """The ReplicaSets of manifests that a Deployment or Rollout owns, as in a dump: it alone sets them."""
    known = {(item.kind, item.key) for item in (*running.deployments, *manifests.deployments)}
    owned = ((item, item.metadata.controller) for item in manifests.replica_sets)
    return [
        item
        for item, owner in owned
        if owner is not None and (owner.kind, f"{item.namespace}/{owner.name}") in known
    ]


def kept_numbers(running: Snapshot, manifests: Snapshot) -> Iterator[str]:
    """A note for every workload that keeps its number of replicas, where that is not the default of one."""
    there = {(item.kind, item.key): item for item in workloads_in(running)}
    for item in workloads_in(manifests):
        earlier = there.get((item.kind, item.key))
        kept = 1 if earlier is None else _kept(item, earlier).get("replicas", 1)
        if kept != 1:
            yield (
                f"{item.kind} {item.key} names no replicas: the {kept} that it has stay; if it was "
                "applied with a number before, kubectl makes that 1"
            )


def not_anywhere(running: Snapshot, manifests: Snapshot) -> Iterator[str]:
    """What the API server says of manifests without a namespace to live in, where all are known."""
    if not any(item.name == KUBE_SYSTEM for item in running.namespaces):
        return
    names = {item.name for item in (*running.namespaces, *manifests.namespaces)}
    for item in (*workloads_in(manifests), *manifests.pods):
        new = not (item.metadata.uid or item.metadata.creation_timestamp)
        if new and item.namespace not in names:
            near = get_close_matches(item.namespace, names, 1)
            hint = f', did you mean "{near[0]}"?' if near else ""
            yield f'{item.kind} {item.key}: namespaces "{item.namespace}" not found{hint}'


def second_ones(running: Snapshot, manifests: Snapshot) -> Iterator[str]:
    """A note for every workload without a namespace that has a running namesake in another one."""
    there = {(item.kind, item.name): item for item in workloads_in(running) if item.metadata.uid}
    known = {(item.kind, item.key) for item in workloads_in(running) if item.metadata.uid}
    for item in workloads_in(manifests):
        unsaid = "namespace" not in item.metadata.model_fields_set
        named = item.kind, item.name
        if unsaid and (item.kind, item.key) not in known and named in there:
            where = there[named].namespace
            yield (
                f"{item.kind} {item.name} names no namespace, so it is a second one beside "
                f"{where}/{item.name}; -n {where} takes it for that one"
            )
