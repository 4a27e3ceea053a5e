"""Which running pods may be evicted, because something brings them back and nothing speaks against it."""

from __future__ import annotations

from collections.abc import Callable

from models.disruption import PodDisruptionBudget
from models.pod import Pod
from planner.problem import Problem

#: From here on priorities belong to the system's own pods.
_SYSTEM_PRIORITY = 2_000_000_000
_MIRROR = "kubernetes.io/config.mirror"
_SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
#: Controllers that bind a pod to its node.
_TIED_TO_NODES = {"DaemonSet", "Node"}


def why_not(pod: Pod) -> str | None:
    """Why a running pod is left where it is; None when it may move."""
    return next((reason for reason, holds in _REASONS.items() if holds(pod)), None)


def _is_tied(pod: Pod) -> bool:
    controller = pod.metadata.controller
    return _MIRROR in pod.metadata.annotations or (
        controller is not None and controller.kind in _TIED_TO_NODES
    )


def _has_local_storage(pod: Pod) -> bool:
    return any(volume.empty_dir is not None or volume.host_path is not None for volume in pod.spec.volumes)


def _asks_to_stay(pod: Pod) -> bool:
    annotations = pod.metadata.annotations
    return annotations.get(_SAFE_TO_EVICT) == "false" or _PREFER_NO_EVICTION in annotations


_REASONS: dict[str, Callable[[Pod], bool]] = {
    "it is terminating": lambda pod: pod.is_terminating,
    "it belongs to its node": _is_tied,
    "no controller would recreate it": lambda pod: pod.metadata.controller is None,
    "its priority is the system's": lambda pod: pod.priority >= _SYSTEM_PRIORITY,
    "it has local storage": _has_local_storage,
    "an annotation asks not to evict it": _asks_to_stay,
}


def movable(problem: Problem) -> list[int]:
    """The running pods that may be evicted."""
    return [
        number
        for number, (pod, node) in enumerate(zip(problem.pods, problem.node_of.tolist(), strict=True))
        if node >= 0 and why_not(pod) is None
    ]


def deletion_cost(pod: Pod) -> int:
    """What `controller.kubernetes.io/pod-deletion-cost` says; 0 where it says nothing readable."""
    text = pod.metadata.annotations.get(_DELETION_COST, "0")
    digits = text[1:] if text[:1] in {"-", "+"} else text
    return int(text) if digits.isascii() and digits.isdigit() else 0


def draws_on(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether a budget counts the eviction of a pod."""
    selector, status = budget.spec.selector, budget.status
    if budget.namespace != pod.namespace or selector is None or selector.empty or not pod.metadata.labels:
        return False
    counted = status is not None and pod.name in status.disrupted_pods
    return not counted and selector.matches(pod.metadata.labels)


def allowance(budget: PodDisruptionBudget) -> int:
    """How many evictions a budget allows now, as its controller last counted."""
    return budget.status.disruptions_allowed if budget.status else 0
