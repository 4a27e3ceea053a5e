"""The most pods of a batch that can stand together in the end, whatever order leads there.

Every placement is gone through.

In the end each pod of the batch, taken away, would be let in once more where it was: by the filters of its
profile, and by room and ports whatever these are.  No anti-affinity of running pods is broken that was kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.truth.digits import State
from tests.truth.tiny_cluster import TinyCluster

Value = tuple[int, ...]
LIMIT = 60_000


@dataclass
class Final:
    """The most pods, the highest priority first, with a state that has them."""

    value: Value
    best: State
    complete: bool = True
    states: int = 0


class FinalPlacing:
    """The search over all placements of the waiting pods."""

    def __init__(self, tiny: TinyCluster, limit: int = LIMIT) -> None:
        self._tiny = tiny
        self._limit = limit
        self._batch = [number for number, kind in enumerate(tiny.kinds) if kind.waiting]
        self._spread = {number: tiny.spread_in_the_end(number) for number in self._batch}
        self._kept = [tiny.excluded_in_the_end(number) for number in range(len(tiny.kinds))]
        kinds = tiny.kinds
        self.priorities = tuple(sorted({kinds[number].priority for number in self._batch}, reverse=True))

    def run(self) -> Final:
        """Every placement is looked at, the pods of a kind being alike."""
        start = self._tiny.start
        best = Final(self.value(start), start)
        for state in self._placements(start, 0, best):
            value = self.value(state)
            if value > best.value and self._holds(state):
                best.value, best.best = value, state
        return best

    def value(self, state: State) -> Value:
        """The pods of the batch that have a node, by priority."""
        counts = dict.fromkeys(self.priorities, 0)
        for number in self._batch:
            before = self._tiny.total(self._tiny.start, number)
            counts[self._tiny.kinds[number].priority] += self._tiny.total(state, number) - before
        return tuple(counts.values())

    def _placements(self, state: State, place: int, best: Final) -> Iterator[State]:
        best.states += 1
        if best.states > self._limit:
            best.complete = False
            return
        if place == len(self._batch):
            yield state
            return
        number = self._batch[place]
        yield from self._of_kind(state, place, number, 0, self._tiny.kinds[number].waiting, best)

    def _of_kind(  # noqa: PLR0913, PLR0917 - how far a placement is
        self, state: State, place: int, number: int, node: int, left: int, best: Final
    ) -> Iterator[State]:
        """So many more of a kind on this node and those after it; what has no room has none later."""
        if node == len(self._tiny.nodes):
            yield from self._placements(state, place + 1, best)
            return
        yield from self._of_kind(state, place, number, node + 1, left, best)
        for count in range(1, left + 1):
            if not self._fits(state, number, node):
                break
            state += self._tiny.delta[number][node]
            yield from self._of_kind(state, place, number, node + 1, left - count, best)

    def _fits(self, state: State, number: int, node: int) -> bool:
        """Whether there is room for one more, and the node and the pod accept each other."""
        return all(check(state) >> node & 1 for check in self._tiny.alone_in_the_end[number])

    def _holds(self, state: State) -> bool:
        tiny = self._tiny
        for number in self._batch:
            for node in range(len(tiny.nodes)):
                before = len(tiny.kinds[number].running.get(node, ()))
                if tiny.count(state, number, node) <= before:
                    continue
                without = state - tiny.delta[number][node]
                if not all(check(without) >> node & 1 for check in tiny.apart[number]):
                    return False
                if not all(check(without) >> node & 1 for check in tiny.alone_in_the_end[number]):
                    return False
                if not all(check(state) >> node & 1 for check in self._spread[number]):
                    return False
        return all(
            check(state - tiny.delta[number][node]) >> node & 1
            for number, kind in enumerate(tiny.kinds)
            for node in kind.running
            for check in self._kept[number]
            if check(tiny.start - tiny.delta[number][node]) >> node & 1
        )
