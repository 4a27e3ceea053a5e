"""The pods that stay on a node that is drained, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.documents.drain import BlockedNode, StayingPod

_MOST_NAMES = 4
#: Causes whose words, those of kubectl drain, name the pods.
_NAMING = {"NoController", "LocalStorage"}


def alike(row: BlockedNode) -> Iterator[Sequence[StayingPod]]:
    """The pods that stay on a node, those together about which the same is said."""
    left = [*row.pods]
    while left:
        first = left[0]
        several = [pod for pod in left if first == pod.model_copy(update={"pod": first.pod})]
        left = [pod for pod in left if pod not in several]
        yield several


def staying(several: Sequence[StayingPod]) -> str:
    """Which of these pods stay, and why."""
    first = several[0]
    if first.reason in _NAMING:
        return first.message
    names = ", ".join(pod.pod for pod in several[:_MOST_NAMES])
    more = len(several) - _MOST_NAMES
    return f"{names}{f' and {more} more' if more > 0 else ''}: {first.message}"
