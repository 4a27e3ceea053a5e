"""kube-scheduler's queue: pods that are due, that are still backing off, and that wait for an event.

A pod that was turned down waits for an event that may help it, and is due again when its backoff is
over: a second, doubled at every refusal, ten at most.  While no pod is due, backoffs are not waited for.
The pod that has waited longest since the last refusal is first, after priority.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from planner.problem.templates import Template

_FIRST_BACKOFF, _LONGEST_BACKOFF = 1.0, 10.0


@dataclass(slots=True)
class _QueuedPod:
    """Since when a pod waits, and how often it was turned down."""

    since: float
    order: int
    refusals: int = 0

    @property
    def backoff(self) -> float:
        """How long it is not due after the last refusal."""
        return min(_LONGEST_BACKOFF, _FIRST_BACKOFF * float(1 << min(self.refusals - 1, 8)))


class SchedulingQueue:
    """Which pod is next; times are seconds of the simulation's own clock."""

    def __init__(self) -> None:
        self._known: dict[int, _QueuedPod] = {}
        self._due: list[tuple[int, float, int, int]] = []
        self._backing_off: list[tuple[float, int, int, int]] = []
        self._parked: dict[int, int] = {}
        self._orders = 0

    @property
    def parked(self) -> Iterable[int]:
        """The pods that wait for an event."""
        return self._parked

    def add(self, pod: int, priority: int, now: float) -> None:
        self._known[pod] = _QueuedPod(now, self._order())
        self._make_due(pod, priority)

    def discard(self, pod: int) -> None:
        """The pod is gone, or has a node."""
        self._known.pop(pod, None)
        self._parked.pop(pod, None)

    def refused(self, pod: int, priority: int, now: float) -> None:
        """The pod was turned down and waits for an event."""
        known = self._known[pod]
        known.since, known.order, known.refusals = now, self._order(), known.refusals + 1
        self._parked[pod] = priority

    def wake_all(self, now: float) -> None:
        """Something happened that may help any pod."""
        self.wake(self._parked, now)

    def wake(self, pods: Iterable[int], now: float) -> None:
        """Something happened that may help these."""
        for pod in list(pods):
            priority, known = self._parked.pop(pod), self._known[pod]
            over = known.since + known.backoff
            if over <= now:
                self._make_due(pod, priority)
            else:
                heapq.heappush(self._backing_off, (over, -priority, known.order, pod))

    def pop(self, now: float) -> int | None:
        """The next pod; None when every pod waits for an event."""
        while self._backing_off and self._backing_off[0][0] <= now:
            _, below, order, pod = heapq.heappop(self._backing_off)
            if self._is_current(pod, order):
                self._make_due(pod, -below)
        while self._due:
            _, _, order, pod = heapq.heappop(self._due)
            if self._is_current(pod, order):
                return pod
        while self._backing_off:
            _, _, order, pod = heapq.heappop(self._backing_off)
            if self._is_current(pod, order):
                return pod
        return None

    def _make_due(self, pod: int, priority: int) -> None:
        known = self._known[pod]
        heapq.heappush(self._due, (-priority, known.since, known.order, pod))

    def _is_current(self, pod: int, order: int) -> bool:
        """Whether an entry of a heap was not overtaken by events."""
        known = self._known.get(pod)
        return known is not None and known.order == order and pod not in self._parked

    def _order(self) -> int:
        self._orders += 1
        return self._orders


def may_help(came: Template, waiting: Template) -> bool:
    """More pods of one kind help where others have affinity to them, or where spread counts them."""
    spec = waiting.pod.spec
    if spec.affinity is not None and (spec.affinity.pod_affinity or spec.affinity.pod_anti_affinity):
        return True
    if came.namespace != waiting.namespace:
        return False
    selectors = [item.label_selector for item in spec.topology_spread_constraints]
    # Without constraints of its own the scheduler's configuration may have some.
    return not selectors or any(found is None or found.matches(came.labels) for found in selectors)
