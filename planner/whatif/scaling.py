"""A workload that is scaled: what comes is made from its template, what goes is what its controller takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random

from models import Cluster
from models.controllers.apply import with_workload
from models.controllers.expand import MOST_NEW_PODS
from models.controllers.owners import ByController, is_live
from models.controllers.reconcile import workloads_of
from models.controllers.stateful import own_ordinal, wanted_ordinals
from models.controllers.templates import usable
from models.errors import InputError
from models.objects.pod import Pod
from models.objects.workload import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    StatefulSet,
    Workload,
)
from planner.whatif.autoscaling import overruled
from planner.whatif.eviction import noted, without_pods
from planner.whatif.named import workload_named
from planner.whatif.unforeseen import why_unforeseen
from planner.whatif.victims import as_of, by_job, by_replica_set


@dataclass(frozen=True, slots=True)
class Replicas:
    """The live pods of one controller, those that it gives up first, first; so many of them go."""

    controller: Workload
    pods: tuple[Pod, ...]
    going: int

    @property
    def victims(self) -> tuple[Pod, ...]:
        return self.pods[: self.going]


def scale(cluster: Cluster, workload: str, replicas: int, *, now: datetime | None = None) -> Cluster:
    """The cluster with a workload `Kind/name[.namespace]` scaled to so many replicas.

    `now` is what the ages of pods are reckoned from; without it the latest time of the snapshot.
    """
    found = scalable(cluster, workload, replicas)
    surplus = list(surplus_of(cluster, found, replicas, now))
    scaled = with_workload(cluster, resized(found, replicas))
    victims = [pod for share in surplus for pod in share.victims]
    notes = (*held_up(found, surplus), *overruled(cluster, found, replicas))
    return noted(without_pods(scaled, victims), notes)


def scalable(cluster: Cluster, workload: str, replicas: int) -> Workload:
    """The workload of this name, if it can be scaled to so many replicas."""
    found = workload_named(cluster, workload)
    if isinstance(found, DaemonSet):
        raise InputError([f"DaemonSet {found.key} has a pod on every node that fits, not a number of them"])
    if not 0 <= replicas <= MOST_NEW_PODS:
        raise InputError([f"expected a number of replicas from 0 to {MOST_NEW_PODS:,}, found {replicas}"])
    above = workloads_of(cluster).controller_of(found)
    if above is not None:
        raise InputError([f"{found.kind} {found.key} belongs to {above.kind} {above.key}: scale that"])
    sets = ByController(cluster.replica_sets)
    makers = makers_of(found, sets)
    if why := why_unforeseen(found, sets):
        raise InputError([why])
    templates = [usable(item.spec.template) for item in (found, *makers)]
    pods = ByController(cluster.pods)
    live = sum(is_live(pod) for maker in makers for pod in pods.of(maker))
    if replicas > live and not any(templates):
        raise InputError([f"{found.kind} {found.key} has no pod template with containers to make pods from"])
    return found


def makers_of(workload: Workload, sets: ByController[ReplicaSet]) -> Sequence[Workload]:
    """What owns a workload's pods: itself, or the ReplicaSets of a Deployment."""
    return sets.of(workload) if isinstance(workload, Deployment) else [workload]


def surplus_of(
    cluster: Cluster,
    workload: Workload,
    replicas: int,
    now: datetime | None = None,
    chance: Random | None = None,
) -> Iterator[Replicas]:
    """What each controller behind a workload has too many of when the workload is scaled down.

    `chance` decides which of pods alike goes; without it the name does.
    """
    now = now or as_of(cluster)
    match workload:
        case StatefulSet():
            yield _of_stateful_set(workload, _live(cluster, workload), replicas)
        case Job():
            pods = by_job(_live(cluster, workload))
            yield Replicas(workload, tuple(pods), max(0, len(pods) - replicas))
        case Deployment():
            sets = ByController(cluster.replica_sets).of(workload)
            yield from _of_sets(cluster, sets, sets, replicas, now, chance)
        case ReplicaSet():
            yield from _of_sets(cluster, [workload], _siblings(cluster, workload), replicas, now, chance)
        case _:
            pods = by_replica_set(_live(cluster, workload), {}, now, chance)
            yield Replicas(workload, tuple(pods), max(0, len(pods) - replicas))


def _siblings(cluster: Cluster, replica_set: ReplicaSet) -> list[ReplicaSet]:
    """The ReplicaSets of the same controller; without one, the controller manager finds none at all."""
    owner = replica_set.metadata.controller
    return [
        item
        for item in cluster.replica_sets
        if owner is not None and item.namespace == replica_set.namespace and item.metadata.controller == owner
    ]


def _live(cluster: Cluster, workload: Workload) -> list[Pod]:
    return [pod for pod in ByController(cluster.pods).of(workload) if is_live(pod)]


def _of_stateful_set(owner: StatefulSet, pods: Sequence[Pod], replicas: int) -> Replicas:
    """The highest ordinals first; a pod whose name has no ordinal is none of its own."""
    numbered = [(number, pod) for pod in pods if (number := own_ordinal(owner, pod)) is not None]
    numbered.sort(key=lambda item: -item[0])
    most = owner.changed("spec", replicas=max(replicas, owner.spec.replicas))
    kept = {*wanted_ordinals(most, (pod for _, pod in numbered))[:replicas]}
    numbered.sort(key=lambda item: item[0] in kept)
    return Replicas(
        owner, tuple(pod for _, pod in numbered), sum(number not in kept for number, _ in numbered)
    )


def _of_sets(  # noqa: PLR0913, PLR0917 - what a controller looks at, and what it leaves to chance
    cluster: Cluster,
    sets: Sequence[ReplicaSet],
    related: Sequence[ReplicaSet],
    replicas: int,
    now: datetime | None,
    chance: Random | None,
) -> Iterator[Replicas]:
    """What each of the ReplicaSets of one workload gives up."""
    pods = ByController(cluster.pods)
    live = {item.key: [pod for pod in pods.of(item) if is_live(pod)] for item in sets}
    peers_on_node = Counter(pod.node_name for pod in _related(cluster, pods, related))
    shares = _shares(sets, {key: len(found) for key, found in live.items()}, replicas)
    for item in sets:
        if live[item.key]:
            order = by_replica_set(live[item.key], peers_on_node, now, chance)
            yield Replicas(item, tuple(order), shares.get(item.key, 0))


def _related(cluster: Cluster, pods: ByController[Pod], sets: Sequence[ReplicaSet]) -> Iterator[Pod]:
    """The live pods that the selector of one of the ReplicaSets picks, whatever owns them."""
    namespaces = {item.namespace for item in sets}
    selectors = [item.spec.selector for item in sets if item.spec.selector is not None]
    for pod in cluster.pods:
        if pod.namespace in namespaces and is_live(pod):
            labels = pod.metadata.labels
            if any(selector.matches(labels) for selector in selectors):
                yield pod
    for item in sets:
        if item.spec.selector is None:
            yield from filter(is_live, pods.of(item))


def _shares(sets: Sequence[ReplicaSet], sizes: dict[str, int], replicas: int) -> dict[str, int]:
    """How many pods each ReplicaSet gives up: in proportion to its size, the rest from the largest.

    As the Deployment controller has it, larger ones first, of equal ones the older, with maxSurge left
    out: a rolling update in progress is not played out.
    """
    total = sum(sizes.values())
    left = max(0, total - replicas)
    order = sorted((item for item in sets if sizes[item.key]), key=lambda item: _larger_first(item, sizes))
    shares: dict[str, int] = {}
    for item in order if left else ():
        size = sizes[item.key]
        kept = (2 * size * replicas + total) // (2 * total)
        shares[item.key] = min(size - kept, left)
        left -= shares[item.key]
    for item in order:
        more = min(left, sizes[item.key] - shares.get(item.key, 0))
        shares[item.key] = shares.get(item.key, 0) + more
        left -= more
    return shares


def _larger_first(item: ReplicaSet, sizes: dict[str, int]) -> tuple[int, float, str]:
    created = item.metadata.creation_timestamp
    return -sizes[item.key], created.timestamp() if created else math.inf, item.name


def resized(workload: Workload, replicas: int) -> Workload:
    """The workload with another number in its spec."""
    update: dict[str, object] = {"replicas": replicas}
    if isinstance(workload, Job):
        # The number of completions would otherwise follow from whether there is a parallelism.
        update = {"parallelism": replicas, "completions": workload.spec.wanted_completions}
    return workload.changed("spec", **update)


def held_up(workload: Workload, surplus: Sequence[Replicas]) -> Iterator[str]:
    """A note when a StatefulSet would first wait for a pod that it keeps."""
    if not isinstance(workload, StatefulSet) or workload.spec.pod_management_policy == "Parallel":
        return
    for share in surplus:
        unready = [pod.key for pod in share.pods[share.going :] if _is_not_ready(pod)]
        if share.going and unready:
            yield (
                f"scale {workload.kind} {workload.key}: {unready[-1]} is not ready, and with OrderedReady "
                "the controller waits for it before it takes pods away"
            )


def _is_not_ready(pod: Pod) -> bool:
    """Whether it is known not to run and be ready; a manifest without conditions says nothing."""
    return pod.node_name is None or (bool(pod.status.conditions) and not pod.is_ready)
