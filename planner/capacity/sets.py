"""How many times a whole set of manifests fits: copy after copy, each in namespaces of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import count, islice
from typing import Any

from models import Cluster
from models.controllers.apply import applied
from models.controllers.expand import MOST_NEW_PODS
from models.controllers.reconcile import reconcile
from models.errors import InputError
from models.objects.base import KubeObject, NamespacedObject
from models.objects.workload import Namespace
from models.snapshot import Snapshot
from planner.capacity.replicas import limits
from planner.documents.capacity import SetCapacity
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler

#: So many copies are tried at first, and so many times more where all of them were placed.
_FIRST, _MORE = 4, 4
#: What all copies would share, or be in the way of each other with.
_NOT_COPIED = ("nodes", "persistent_volumes", "csi_nodes", "volume_attachments")


def count_sets(cluster: Cluster, manifests: Snapshot) -> SetCapacity:
    """How many whole copies are placed one after the other, none of which evicts a pod."""
    _refuse(manifests)
    copies = _FIRST
    while True:
        found, pods = _placed(cluster, manifests, copies)
        if found is not None:
            return found
        if copies * pods >= MOST_NEW_PODS:
            return SetCapacity(pods=pods, more=copies)
        copies *= _MORE


def _refuse(manifests: Snapshot) -> None:
    """What makes no pods, or cannot be there twice."""
    kinds = {type(item).__name__ for field in _NOT_COPIED for item in getattr(manifests, field)}
    if kinds:
        raise InputError(
            [f"--set: {', '.join(sorted(kinds))} cannot be part of a set that is there several times"]
        )


def _placed(cluster: Cluster, manifests: Snapshot, copies: int) -> tuple[SetCapacity | None, int]:
    """The answer where a copy does not fit, and the pods of one copy."""
    more, own = cluster, list[set[str]]()
    for number in islice(_free_numbers(cluster, manifests), copies):
        copy = copied(manifests, number)
        more = applied(more, copy)
        own.append(_namespaces(copy))
    more = reconcile(more)
    problem = Problem(more)
    number_of = {name: number for number, names in enumerate(own) for name in names}
    scheduler = Scheduler(problem)
    scheduler.restore_nominations(scheduler.queue)
    pods_by_copy: list[list[int]] = [[] for _ in range(copies + 1)]
    for pod in scheduler.queue:
        pods_by_copy[number_of.get(problem.pods[pod].namespace, -1) + 1].append(pod)
    if not pods_by_copy[1]:
        made = any(problem.pods[pod].namespace in own[0] for pod in range(len(problem.pods)))
        none = "no pod asks for a scheduler that has a profile here" if made else "the manifests make no pods"
        raise InputError([f"--set: {none}"])
    for number, pods in enumerate(pods_by_copy):
        for pod in pods:
            decision = scheduler.take(pod)
            scheduler.state.forget_history()
            if number and (decision.node is None or decision.victims):
                limited = limits(scheduler, decision)
                name = problem.pods[pod].key
                found = SetCapacity(
                    pods=len(pods), more=number - 1, pod=name, message=decision.message, limited_by=limited
                )
                return found, len(pods)
    return None, len(pods_by_copy[1])


def _free_numbers(cluster: Snapshot, manifests: Snapshot) -> Iterator[int]:
    """The numbers under which no namespace of a copy is there already."""
    taken = _namespaces(cluster) | {item.name for item in cluster.namespaces}
    names = _namespaces(manifests) | {item.name for item in manifests.namespaces}
    return (number for number in count(1) if taken.isdisjoint(f"{name}-{number}" for name in names))


def copied(manifests: Snapshot, number: int) -> Snapshot:
    """The manifests with every namespace under another name, `shop` as `shop-3`."""
    changed: dict[str, Any] = {
        field.name: tuple(_renamed(item, number) for item in found)
        for field in fields(manifests)
        if isinstance(found := getattr(manifests, field.name), tuple) and field.name != "notes"
    }
    return replace(manifests, **changed, notes=())


def _renamed(item: KubeObject, number: int) -> KubeObject:
    if isinstance(item, NamespacedObject):
        update = {"namespace": f"{item.metadata.namespace}-{number}"}
    elif isinstance(item, Namespace):
        update = {"name": f"{item.metadata.name}-{number}"}
    else:
        return item
    return item.model_copy(update={"metadata": item.metadata.model_copy(update=update)})


def _namespaces(snapshot: Snapshot) -> set[str]:
    return {item.metadata.namespace for item in _namespaced(snapshot)}


def _namespaced(snapshot: Snapshot) -> Iterator[NamespacedObject]:
    for field in fields(snapshot):
        found = getattr(snapshot, field.name)
        if isinstance(found, tuple):
            yield from (item for item in found if isinstance(item, NamespacedObject))
