"""The pods of a batch as they are placed now: by node and template, bound in its state."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from planner.batch.pending import Pending
from planner.scheduler.order import Placement, Step


class PlacedPods:
    """Puts pods on nodes and takes them off, all of which can be undone."""

    def __init__(self, pending: Pending, placement: Placement, home: Placement) -> None:
        """`home` is where pods are to stay: where they run, or where kube-scheduler has them."""
        self._state = pending.state
        self._budgets = pending.budgets_of_templates
        self._home = home
        self._log: list[tuple[Placement, bool]] = []
        self.waiting = {number: [*pods] for number, pods in pending.every.items()}
        #: The pods on every node by template.
        self.on: dict[int, dict[int, list[int]]] = defaultdict(dict)
        #: How many pods of every template are not at home.
        self.gone = Counter[int]()
        for (number, _), pods in home.items():
            self.gone[number] += pods
        self.put(placement)

    def put(self, placement: Placement) -> None:
        """Put waiting pods where a placement has them."""
        for (number, node), count in placement.items():
            self._state.bind_all(self._come((number, node), count), np.full(count, node, np.intp))
        self._log.append((placement, True))

    def take(self, placement: Placement) -> None:
        """Take so many pods off their nodes."""
        for step, count in placement.items():
            self._state.unbind_all(self._leave(step, count))
        self._log.append((placement, False))

    def mark(self) -> tuple[int, int]:
        """A point to go back to."""
        return len(self._log), self._state.mark()

    def go_back(self, mark: tuple[int, int]) -> None:
        """Undo everything since the mark."""
        while len(self._log) > mark[0]:
            placement, came = self._log.pop()
            for step, count in reversed([*placement.items()]):
                (self._leave if came else self._come)(step, count)
        self._state.rollback(mark[1])

    def _come(self, step: Step, count: int) -> list[int]:
        """Count so many pods as come: which they are."""
        number, node = step
        waiting, there = self.waiting[number], self.on[node].get(number, [])
        pods, waiting[:] = waiting[-count:], waiting[:-count]
        self.on[node][number] = there + pods
        self._count(step, len(there), len(there) + count)
        return pods

    def _leave(self, step: Step, count: int) -> list[int]:
        """Count so many pods as gone: which they are."""
        number, node = step
        there = self.on[node].pop(number)
        self.waiting[number] += there[-count:]
        if len(there) > count:
            self.on[node][number] = there[:-count]
        self._count(step, len(there), len(there) - count)
        return there[-count:]

    def _count(self, step: Step, before: int, now: int) -> None:
        home = self._home.get(step, 0)
        self.gone[step[0]] += min(before, home) - min(now, home)

    def within_budgets(self) -> bool:
        """Whether no more pods have left than may."""
        return all(sum(self.gone[t] for t in templates) <= allowed for templates, allowed in self._budgets)

    def on_nodes(self, nodes: set[int], but: set[int]) -> Counter[Step]:
        """How many pods of every template but some are on each of some nodes."""
        return Counter(
            {
                (number, node): len(pods)
                for node in sorted(nodes)
                for number, pods in self.on[node].items()
                if number not in but
            }
        )

    def placement(self) -> Counter[Step]:
        """How many pods of every template are on each node."""
        return Counter(
            {(number, node): len(pods) for node, there in self.on.items() for number, pods in there.items()}
        )
