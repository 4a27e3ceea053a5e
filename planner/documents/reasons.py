"""For which reasons pods have no node, in short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from planner.documents.plan import Decision, PendingReason


def reasons_of(told: Sequence[tuple[str, str]]) -> Iterator[PendingReason]:
    """The lines about some pods, each given with its pod, the most frequent first."""
    examples = {line: pod for pod, line in reversed(told)}
    for line, pods in Counter(line for _, line in told).most_common():
        yield PendingReason(message=line, pods=pods, example=examples[line])


def pending_by_reason(decisions: Iterable[Decision]) -> tuple[PendingReason, ...]:
    """The verdicts of the pods that stayed pending."""
    return tuple(reasons_of([(found.pod, found.message) for found in decisions if found.node is None]))
