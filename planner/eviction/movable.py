"""Which running pods may be evicted: those that a controller recreates and nothing protects."""

from __future__ import annotations

from collections.abc import Callable

from models.controllers.stateful import set_key
from models.objects.annotations import NO_DISRUPTION, PREFER_NO_EVICTION, SAFE_TO_EVICT
from models.objects.pod import Pod
from planner.eviction.protections import SYSTEM_CRITICAL
from planner.problem.problem import Problem

#: Controllers that bind a pod to its node.
_TIED_TO_NODES = {"DaemonSet", "Node"}


def why_not(pod: Pod) -> str | None:
    """Why a running pod stays; None when it may move."""
    return next((reason for reason, holds in _REASONS.items() if holds(pod)), None)


def is_tied(pod: Pod) -> bool:
    """Whether the pod comes with its node, and would be nowhere else."""
    controller = pod.metadata.controller
    return pod.is_mirror or (controller is not None and controller.kind in _TIED_TO_NODES)


def stands_for(pod: Pod) -> tuple[str, ...]:
    """What pods that take each other's place share: their controller, unless each has a name or node to keep.

    Such a pod, and one without a controller, stands for itself alone.
    """
    by = None if set_key(pod) or is_tied(pod) else pod.metadata.controller
    return (pod.key,) if by is None else (pod.namespace, by.kind, by.name)


def has_local_storage(pod: Pod) -> bool:
    """Whether the pod has an emptyDir or hostPath volume, whose data an eviction would lose."""
    return pod.has_scratch_data or any(item.host_path is not None for item in pod.spec.volumes)


def keeps_local_data(pod: Pod) -> bool:
    """Whether the pod has local storage, and no annotation says that it is safe to evict."""
    return pod.metadata.annotations.get(SAFE_TO_EVICT) != "true" and has_local_storage(pod)


def asks_to_stay(pod: Pod) -> bool:
    """Whether an annotation asks not to evict it."""
    annotations = pod.metadata.annotations
    held = annotations.get(SAFE_TO_EVICT) == "false" or annotations.get(NO_DISRUPTION) == "true"
    return held or PREFER_NO_EVICTION in annotations


_REASONS: dict[str, Callable[[Pod], bool]] = {
    "it is terminating": lambda pod: pod.is_terminating,
    "it belongs to its node": is_tied,
    "no controller would recreate it": lambda pod: pod.metadata.controller is None,
    "its priority is the system's": lambda pod: pod.priority >= SYSTEM_CRITICAL,
    "it has local storage": keeps_local_data,
    "an annotation asks not to evict it": asks_to_stay,
}


def movable(problem: Problem) -> list[int]:
    """The running pods that may be evicted."""
    return [
        number
        for number, (pod, node) in enumerate(zip(problem.pods, problem.node_of.tolist(), strict=True))
        if node >= 0 and why_not(pod) is None
    ]
