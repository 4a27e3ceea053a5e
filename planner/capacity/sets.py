"""How many times a whole set of manifests fits: copy after copy, each in namespaces of its own."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import count, islice
from typing import Any

from models import Cluster
from models.controllers.apply import applied
from models.controllers.expand import MOST_NEW_PODS
from models.controllers.reconcile import reconcile
from models.errors import InputError
from models.objects.base import KubeObject, NamespacedObject
from models.objects.workload import METADATA_NAME, Namespace
from models.snapshot import Snapshot
from models.words import counted
from planner.capacity.replicas import limits
from planner.documents.capacity import SetCapacity
from planner.problem.problem import Problem
from planner.proof.clock import is_stop_requested, report_best, taken_until_stop
from planner.scheduler.profile import profiles_of
from planner.scheduler.scheduler import Scheduler, SchedulingDecision

#: So many copies are tried at first, and so many times more where all of them were placed.
_FIRST, _MORE = 1, 4
#: What all copies would share, or be in the way of each other with.
_NOT_COPIED = ("nodes", "persistent_volumes", "csi_nodes", "volume_attachments")


def count_sets(
    cluster: Cluster, manifests: Snapshot, stop_event: threading.Event | None = None
) -> SetCapacity:
    """How many whole copies are placed one after the other, none of which evicts a pod.

    After a stop, and where more pods than can be made would fit, so many at least.
    """
    _refuse(manifests)
    told = taken_until_stop(_counted(cluster, manifests, stop_event), stop_event)
    nothing = SetCapacity(pods=0, more=0, exact=False)
    return max(told, key=lambda found: (found.more, found.exact), default=nothing)


def placed_in_draw(
    cluster: Cluster, manifests: Snapshot, copies: int, seed: int, stop_event: threading.Event | None
) -> int | None:
    """How many of so many copies are placed with ties drawn; None after a stop."""
    attempt = _Attempt.of(cluster, manifests, copies, stop_event, seed)
    found = [] if attempt is None else [told.more for told in attempt.counted(stop_event)]
    return None if is_stop_requested(stop_event) else max(found)


def of_other_schedulers(cluster: Cluster, manifests: Snapshot) -> Iterator[str]:
    """A note for each scheduler without a profile that pods of a copy ask for: they are not counted."""
    copy = copied(manifests, next(_free_numbers(cluster, manifests)))
    more, names = reconcile(applied(cluster, copy)), _namespaces(copy)
    known = profiles_of(more.scheduler_config)
    made = Counter(pod.spec.scheduler_name for pod in more.pods if pod.namespace in names)
    for name, pods in sorted(made.items()):
        if name not in known:
            asks = "asks" if pods == 1 else "ask"
            of_each = f"{counted(pods, 'pod')} of each copy {asks} for scheduler {name}"
            yield f"{of_each}, which has no profile here: not counted"


def _counted(
    cluster: Cluster, manifests: Snapshot, stop_event: threading.Event | None
) -> Iterator[SetCapacity]:
    """What is sure after every copy of more and more, until not all of them are placed."""
    copies, most = 0, _FIRST
    while copies < most:
        copies = min(max(_FIRST, copies * _MORE), most)
        attempt = _Attempt.of(cluster, manifests, copies, stop_event)
        if attempt is None:
            return
        for found in attempt.counted(stop_event):
            yield found
            if found.exact:
                return
        most = max(1, MOST_NEW_PODS // attempt.made)


def _refuse(manifests: Snapshot) -> None:
    """What makes no pods, or cannot be there twice."""
    kinds = {type(item).__name__ for field in _NOT_COPIED for item in getattr(manifests, field)}
    if kinds:
        raise InputError(
            [f"--set: {', '.join(sorted(kinds))} cannot be part of a set that is there several times"]
        )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The cluster with so many copies, before any of them is placed."""

    problem: Problem
    scheduler: Scheduler
    #: The pods in the queue: those that wait already, then those of each copy.
    pods_by_copy: Sequence[Sequence[int]]
    #: The pods that a copy makes, in the queue or not.
    made: int

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        manifests: Snapshot,
        copies: int,
        stop_event: threading.Event | None,
        seed: int | None = None,
    ) -> _Attempt | None:
        """The copies applied, and the pods that controllers make of them; None after a stop.

        With a seed nodes are sampled and ties drawn.
        """
        several = [copied(manifests, number) for number in islice(_free_numbers(cluster, manifests), copies)]
        if is_stop_requested(stop_event):
            return None
        more = reconcile(applied(cluster, _together(several)))
        if is_stop_requested(stop_event):
            return None
        problem = Problem(more)
        copy_of = {name: number for number, copy in enumerate(several, 1) for name in _namespaces(copy)}
        scheduler = Scheduler(problem, seed=seed)
        scheduler.restore_nominations(scheduler.queue)
        pods_by_copy: list[list[int]] = [[] for _ in range(copies + 1)]
        for pod in scheduler.queue:
            pods_by_copy[copy_of.get(problem.pods[pod].namespace, 0)].append(pod)
        made = sum(copy_of.get(pod.namespace) == 1 for pod in problem.pods)
        if not pods_by_copy[1]:
            none = (
                "no pod asks for a scheduler that has a profile here"
                if made
                else "the manifests make no pods"
            )
            raise InputError([f"--set: {none}"])
        return cls(problem, scheduler, pods_by_copy, made)

    def counted(self, stop_event: threading.Event | None) -> Iterator[SetCapacity]:
        """What is sure after every copy; exact when one is not placed, which ends it, as a stop does."""
        size = len(self.pods_by_copy[1])
        for number, pods in enumerate(self.pods_by_copy):
            placed = max(0, number - 1)
            yield SetCapacity(pods=size, more=placed, exact=False)
            report_best(f"{placed} copies")
            left = self._first_left(pods, stop_event, evicts=not number)
            if is_stop_requested(stop_event):
                return
            if number and left is not None:
                yield SetCapacity(
                    pods=size,
                    more=placed,
                    pod=self.problem.pods[left.pod].key,
                    message=left.message,
                    limited_by=limits(self.scheduler, left),
                )
                return
        yield SetCapacity(pods=size, more=len(self.pods_by_copy) - 1, exact=False)

    def _first_left(
        self, pods: Sequence[int], stop_event: threading.Event | None, *, evicts: bool
    ) -> SchedulingDecision | None:
        """What is decided about the first pod that stays without a node, or, unless it may, evicts others.

        One that is refused is tried again after all others, as kube-scheduler does when pods have come that
        it asks for.
        """
        left = pods
        while left:
            refused = []
            for pod in left:
                if is_stop_requested(stop_event):
                    return None
                decision = self.scheduler.take(pod)
                self.scheduler.state.forget_history()
                if decision.victims and not evicts:
                    return decision
                if decision.node is None:
                    refused.append(decision)
            if len(refused) == len(left):
                return refused[0]
            left = [decision.pod for decision in refused]
        return None


def _together(copies: Sequence[Snapshot]) -> Snapshot:
    """All copies as one set of manifests; what has no namespace is there once."""
    several: dict[str, Any] = {
        field.name: (
            *first,
            *(
                item
                for copy in copies[1:]
                for item in getattr(copy, field.name)
                if isinstance(item, NamespacedObject | Namespace)
            ),
        )
        for field in fields(copies[0])
        if isinstance(first := getattr(copies[0], field.name), tuple)
    }
    return replace(copies[0], **several)


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
        update: dict[str, object] = {"namespace": f"{item.metadata.namespace}-{number}"}
    elif isinstance(item, Namespace):
        name = f"{item.metadata.name}-{number}"
        update = {"name": name, "labels": {**item.metadata.labels, METADATA_NAME: name}}
    else:
        return item
    return item.changed("metadata", **update)


def _namespaces(snapshot: Snapshot) -> set[str]:
    several = (getattr(snapshot, field.name) for field in fields(snapshot))
    items = (item for found in several if isinstance(found, tuple) for item in found)
    return {item.metadata.namespace for item in items if isinstance(item, NamespacedObject)}
