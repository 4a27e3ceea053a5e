"""In which order the API server is asked for pods that are not there yet, as far as their controllers tell.

A StatefulSet with `OrderedReady` asks for a pod when those of all lower ordinals are ready; all others ask at
once for what they lack.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping

from models import Cluster
from models.controllers.owners import is_healthy
from models.controllers.stateful import ordinal_of, set_key
from models.objects.pod import Pod

_Set = tuple[str, str]


def in_turn(cluster: Cluster, pods: Mapping[int, Pod], new: Iterable[int]) -> list[int]:
    """The new ones among the pods, at the end those that wait for lower ordinals of their StatefulSet."""
    waiting = awaited(cluster, pods, new := [*new])
    return sorted(new, key=lambda pod: pod in waiting)


def awaited(cluster: Cluster, pods: Mapping[int, Pod], new: Collection[int]) -> dict[int, int]:
    """The new pods that wait for lower ordinals, each with the highest of those that are not ready."""
    ordered = {
        (item.namespace, item.name)
        for item in cluster.stateful_sets
        if item.spec.pod_management_policy == "OrderedReady"
    }
    if not (ordered and new):
        return {}
    unready: dict[_Set | None, list[tuple[int, int]]] = {}
    for number, pod in pods.items():
        if (owner := set_key(pod)) in ordered and not is_healthy(pod):
            unready.setdefault(owner, []).append((_ordinal(pod), number))
    for several in unready.values():
        several.sort()
    found = {}
    for number in new:
        several = unready.get(set_key(pods[number]), [])
        place = bisect_left(several, (_ordinal(pods[number]),))
        if place:
            found[number] = several[place - 1][1]
    return found


def _ordinal(pod: Pod) -> int:
    found = ordinal_of(pod)
    return -1 if found is None else found
