"""The scheduling queue of a drain, in which no time passes: most pods are refused together, many times over.

Where everything that waits is refused in one go, each pod only gets one refusal more and a new place, in the
order in which they came up: least backoff first, then priority, then since when they wait.  So they stand in
an array in that order, and are put back into the queue one by one only when one of them may get a node.
"""

from __future__ import annotations

import heapq

import numpy as np

from planner.problem.nodes import Ints
from planner.simulation.rollout.scheduling_queue import SchedulingQueue

#: From so many refusals on a pod backs off for as long as it ever does.
_LONGEST = 5


class TimelessQueue(SchedulingQueue):
    """A queue at the time 0, with pods that were refused together."""

    def __init__(self) -> None:
        super().__init__()
        self._together: Ints = np.zeros(0, np.int64)
        self._refusals: Ints = np.zeros(0, np.int64)
        self._priorities: Ints = np.zeros(0, np.int64)
        self._first, self._note, self._are_woken = 0, 0, False
        self._notes: dict[int, int | None] = {}

    def notes(self) -> dict[int, int | None]:
        """For the pods that were refused, what was noted when they were the last time."""
        return self._notes | dict.fromkeys(self._together.tolist(), self._note)

    def note(self, pod: int, note: int | None) -> None:
        """Note something of a pod that is refused now."""
        self._notes[pod] = note

    def discard(self, pod: int) -> None:
        """The pod is gone, or has a node."""
        if pod in self._known and pod not in self._parked and (self._together == pod).any():
            self._put_back()
        self._notes.pop(pod, None)
        super().discard(pod)

    @property
    def parked(self) -> dict[int, int]:
        """The pods that wait for an event."""
        if not self._are_woken:
            self._put_back()
        return self._parked

    def wake_all(self, now: float) -> None:
        """Something happened that may help any pod."""
        super().wake([*self._parked], now)
        self._are_woken = self._together.size > 0

    @property
    def has_new(self) -> bool:
        """Whether a pod is there that was not refused yet."""
        while self._due and not self._is_current(self._due[0][3], self._due[0][2]):
            heapq.heappop(self._due)
        return bool(self._due)

    def refuse_all(self, note: int) -> None:
        """Refuse every pod that backs off, one after the other, none of which is new."""
        pods, refusals, priorities, orders = self._each_backing_off()
        if not self._are_woken:
            if not pods.size:
                return
            self._put_back()
        held = np.arange(self._first, self._first + self._together.size)
        order = _due_order(
            np.concatenate((self._refusals, refusals)),
            np.concatenate((self._priorities, priorities)),
            np.concatenate((held, orders)),
        )
        self._together = np.concatenate((self._together, pods))[order]
        self._priorities = np.concatenate((self._priorities, priorities))[order]
        self._refusals = np.minimum(np.concatenate((self._refusals, refusals))[order] + 1, _LONGEST)
        self._first, self._note, self._are_woken = self._orders, note, False
        self._orders += self._together.size

    def _each_backing_off(self) -> Ints:
        """The pods that back off in their order, taken out: their refusals, priorities and orders, too."""
        found = []
        while self._backing_off:
            _, priority, order, pod = heapq.heappop(self._backing_off)
            if self._is_current(pod, order):
                found.append((pod, min(self._known[pod].refusals, _LONGEST), priority, order))
        return np.array(found, np.int64).reshape(-1, 4).T

    def _pop_backing_off(self) -> int | None:
        if self._are_woken:
            self._put_back()
        return super()._pop_backing_off()

    def _put_back(self) -> None:
        """Let the pods that were refused together stand for themselves again."""
        rows = zip(self._together.tolist(), self._refusals.tolist(), self._priorities.tolist(), strict=True)
        for order, (pod, refusals, priority) in enumerate(rows, start=self._first):
            known = self._known[pod]
            known.since, known.order, known.refusals = 0.0, order, refusals
            self._notes[pod] = self._note
            if self._are_woken:
                heapq.heappush(self._backing_off, (known.backoff, priority, order, pod))
            else:
                self._parked[pod] = priority
        self._together = self._refusals = self._priorities = np.zeros(0, np.int64)
        self._are_woken = False


def _due_order(refusals: Ints, priorities: Ints, orders: Ints) -> Ints:
    """The order in which pods are due: by backoff, priority, and since when they wait."""
    _, ranks = np.unique(priorities, return_inverse=True)
    key = refusals * (int(ranks.max(initial=0)) + 1) + ranks.reshape(-1)
    if (np.diff(orders) > 0).all():
        # A stable sort of small numbers takes a fraction of the time.
        return np.argsort(key.astype(np.int16 if key.max(initial=0) < 1 << 15 else np.int64), kind="stable")
    return np.lexsort((orders, key))
