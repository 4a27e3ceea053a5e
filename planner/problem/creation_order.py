"""In which order the API server is asked for pods that are not there yet, as far as their controllers tell.

A StatefulSet with `OrderedReady` asks for a pod when those of all lower ordinals are ready; all others ask at
once for what they lack.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from models import Cluster
from models.controllers.owners import is_live
from models.controllers.stateful import ordinal_of
from models.objects.pod import Pod


def in_turn(cluster: Cluster, pods: Sequence[Pod], new: Iterable[int]) -> list[int]:
    """The new ones among the pods, at the end those that wait for lower ordinals of their StatefulSet."""
    ordered = {
        (item.namespace, item.name)
        for item in cluster.stateful_sets
        if item.spec.pod_management_policy == "OrderedReady"
    }
    lowest = _lowest_unready(ordered, pods) if ordered else {}

    def waits(pod: int) -> bool:
        owner, ordinal = _owner(pods[pod]), ordinal_of(pods[pod])
        return owner in lowest and ordinal is not None and ordinal > lowest[owner]

    return sorted(new, key=waits)


def _lowest_unready(
    owners: Collection[tuple[str, str]], pods: Iterable[Pod]
) -> dict[tuple[str, str] | None, int]:
    """By StatefulSet the lowest ordinal whose pod is not ready, or not there yet."""
    found: dict[tuple[str, str] | None, int] = {}
    for pod in pods:
        owner, ordinal = _owner(pod), ordinal_of(pod)
        if owner in owners and ordinal is not None and not _is_ready(pod):
            found[owner] = min(ordinal, found.get(owner, ordinal))
    return found


def _owner(pod: Pod) -> tuple[str, str] | None:
    """The StatefulSet that made the pod."""
    owner = pod.metadata.controller
    return (pod.namespace, owner.name) if owner is not None and owner.kind == "StatefulSet" else None


def _is_ready(pod: Pod) -> bool:
    return bool(pod.node_name) and is_live(pod) and not (pod.is_starting or pod.is_unready)
