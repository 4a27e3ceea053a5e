"""Pods that stay Terminating when they are deleted, by an eviction or otherwise.

An eviction marks a pod as Terminating; its kubelet ends it, and then it stays until no finalizer is left.
Where the node is not ready no kubelet does so; what has no grace period the API server deletes by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from models.controllers.jobs import JOB_TRACKING
from models.objects.node import Node
from models.objects.pod import Pod
from models.words import counted
from planner.problem.nodes import Codes

if TYPE_CHECKING:
    from planner.documents.drain import Reason

#: Why pods are not moved that would stay Terminating.
NOT_READY = "on a node that is not ready, where evictions do not end"
FINALIZER = "with a finalizer that is not one of Kubernetes itself"

_NOT_READY_TAINTS = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
#: Finalizers that controllers of Kubernetes itself take away in time.
_OWN_FINALIZERS = {JOB_TRACKING, "foregroundDeletion", "orphan"}
#: A pod is deleted at this time at the latest; kubelets are a little late.
_LATE = timedelta(seconds=30)
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class NoEnd:
    """Why a pod stays Terminating: the kind of cause, what is said of pods that are not moved, the cause."""

    reason: Reason
    stays: str
    words: str


class Endings:
    """For the pods that have nodes whether they end when they are deleted."""

    def __init__(
        self, nodes: Sequence[Node], pods: Sequence[Pod], node_of: Codes, terminating: Codes
    ) -> None:
        """Of the pods by their numbers, with their nodes, some are Terminating."""
        self._nodes, self._pods, self._node_of = nodes, pods, node_of
        #: The Terminating pods.
        self.terminating: list[int] = terminating.tolist()

    @cached_property
    def _not_ready(self) -> Mapping[int, str]:
        words = ((number, not_ready_words(node)) for number, node in enumerate(self._nodes))
        return {number: state for number, state in words if state}

    def is_ready(self, node: int) -> bool:
        """Whether nothing says that a node is not ready."""
        return node not in self._not_ready

    def why_not_started(self, pod: Pod, node: int) -> str:
        """Why a pod that has got this node does not start, if so."""
        state = self._not_ready.get(node)
        return "" if state is None else f"{pod.name} does not start: node {self._nodes[node].name} {state}"

    def why_not(self, number: int) -> NoEnd | None:
        """Why a pod would stay Terminating, if so."""
        pod, node = self._pods[number], int(self._node_of[number])
        state = self._not_ready.get(node)
        if state is not None and pod.spec.termination_grace_period_seconds > 0:
            words = (
                f"node {self._nodes[node].name} {state}: no kubelet ends pods there, so a deleted pod stays "
                "Terminating until the node is back or deleted"
            )
            return NoEnd("NodeNotReady", NOT_READY, words)
        return held_by_finalizers(pod)

    def stuck_after(self, number: int) -> int | None:
        """How many seconds after its deletion quotas take a pod for stuck; None where they need not."""
        found = self.why_not(number)
        grace = self._pods[number].spec.termination_grace_period_seconds
        return 2 * grace if found is not None and found.reason == "NodeNotReady" else None

    def why_not_moved(self, number: int) -> str:
        """What is said of a pod that is not moved as it would not end; empty where it would."""
        found = self.why_not(number)
        return "" if found is None else found.stays

    def why_stuck(self, number: int, now: datetime | None = None) -> NoEnd | None:
        """Why a pod that is Terminating stays so, if so: it cannot end, or should have ended before now."""
        deleted = self._pods[number].metadata.deletion_timestamp
        if deleted is None:
            return None
        found = self.why_not(number)
        if found is not None or now is None or deleted + _LATE >= now:
            return found
        seconds = int((now - deleted).total_seconds())
        words = f"it should have ended {seconds} s ago and has not"
        return NoEnd("Terminating", "terminating", words)

    def notes(self) -> Iterator[str]:
        """One note about Terminating pods that cannot end, with their nodes, by controller.

        Those of DaemonSets and static pods are left out: they are wanted on their nodes alone.
        """
        found, causes = Counter[str](), dict[str, str]()
        for number in self.terminating:
            pod, why = self._pods[number], self.why_stuck(number)
            owner = pod.metadata.controller
            if why is not None and owner is not None and owner.kind not in ("DaemonSet", "Node"):
                name = f"{pod.namespace} {owner.kind}/{owner.name}"
                found[name] += 1
                causes.setdefault(name, why.words.partition(":")[0])
        if found:
            named = [f"{name}, {found[name]} ({causes[name]})" for name in sorted(found)]
            stateful = any(" StatefulSet/" in name for name in found)
            names = ", and till then a StatefulSet makes no other one of the same name" if stateful else ""
            more = f"; and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
            yield (
                f"{counted(found.total(), 'Terminating pod')} cannot end{names}: "
                f"{'; '.join(named[:_MOST_NAMED])}{more}"
            )


def held_by_finalizers(pod: Pod) -> NoEnd | None:
    """Why a pod that is deleted stays when it has ended, if so."""
    held = [name for name in pod.metadata.finalizers if name not in _OWN_FINALIZERS]
    if not held:
        return None
    words = (
        f"it stays Terminating until its finalizer{'s' if len(held) > 1 else ''} {', '.join(held)} "
        f"{'are' if len(held) > 1 else 'is'} removed"
    )
    return NoEnd("Finalizer", FINALIZER, words)


def left_alone(reasons: Iterable[str]) -> Iterator[str]:
    """How many pods are not moved as they would not end, given the reasons of all pods that stay."""
    found = Counter(reason for reason in reasons if reason in (NOT_READY, FINALIZER))
    return (f"{counted(pods, 'pod')} {reason}: not moved" for reason, pods in sorted(found.items()))


def not_ready_words(node: Node) -> str:
    """In words that a node does not answer, or is not ready; empty where nothing says so."""
    key = next((taint.key for taint in node.spec.taints if taint.key in _NOT_READY_TAINTS), "")
    if key:
        return f"has the taint {key}"
    ready = next((item.status for item in node.status.conditions if item.type == "Ready"), "True")
    return "" if ready == "True" else f"is not ready (Ready is {ready})"
