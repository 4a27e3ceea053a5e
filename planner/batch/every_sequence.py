"""Every sequence of binds of a tiny batch, and with moves every choice of evictions before them.

Positions are gone through depth first, each once.  One is left aside when even with every pod that could
still come it is no better than the best so far.  When the search comes to its end, no sequence that
evicts first is better: that is a proof, and the filters alone have made it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from planner.batch.pending import Pending
from planner.batch.positions import Position, Positions
from planner.proof.effort import SequenceEffort
from planner.proof.meter import Meter
from planner.scheduler.order import Step

#: After how many positions the meter is read.
_NOW_AND_THEN = 64


def are_few(pending: Pending, effort: SequenceEffort) -> bool:
    """Whether it is worth while to go through all sequences."""
    choices = math.prod(len(pods) + 1 for pods in pending.running.values())
    return (
        sum(pending.wanted.values()) <= effort.pods
        and pending.problem.nodes.size <= effort.nodes
        and choices <= effort.eviction_choices
    )


@dataclass(frozen=True, slots=True)
class FoundSequence:
    """How many pods of each template leave each node at first, and the binds that follow."""

    evictions: Counter[Step]
    binds: Sequence[Step]


class EverySequence:
    """Looks for a sequence that is better than what is known."""

    def __init__(self, pending: Pending, meter: Meter, may_end: Callable[[], bool] | None = None) -> None:
        """`may_end` says whether evictions may lead to what the state is at that moment."""
        self._pending = pending
        self._meter = meter
        self._may_end = may_end
        self._at = Positions(pending)
        self._worth = self._read_worth()
        self._by_worth = sorted(range(len(self._worth)), key=lambda rank: -self._worth[rank])
        self._seen: set[Position] = set()
        self._gone: Counter[Step] = Counter()
        self._left: list[int] = []
        self._path: list[tuple[int, int]] = []
        self._least = self._most = 0
        #: The best that was found and is better than what was known.
        self.best: FoundSequence | None = None

    def _read_worth(self) -> list[int]:
        """A pod of a higher priority is worth more than all pods of lower ones."""
        scale = self._scale
        ranks = {priority: rank for rank, priority in enumerate(reversed(self._pending.priorities))}
        return [scale ** ranks[self._pending.priority(number)] for number in self._at.templates]

    @property
    def _scale(self) -> int:
        return sum(self._at.wanted) + 1

    def _worth_of(self, placed: Sequence[int]) -> int:
        worth = 0
        for pods in placed:
            worth = worth * self._scale + pods
        return worth

    def run(self, placed: Sequence[int], bounds: Sequence[int], moves: int = 0) -> bool:
        """Whether no sequence is better than the known one, or than `best` when that is there.

        Known are the pods placed of every priority, the highest first, bounds on them, and how many
        evictions it took.
        """
        self._least = known = self._worth_of(placed)
        self._most = self._worth_of(_reachable(placed, bounds, self._pending))
        try:
            return all(self._from(gone, known, moves) for gone in self._evictions())
        except _EnoughError:
            return True
        finally:
            self._at.leave()

    def _from(self, gone: Counter[Step], known: int, moves: int) -> bool:
        """Go through the binds that follow some evictions; whether that came to its end."""
        if self.best is None:
            self._least = known + (sum(gone.values()) >= moves)
        if self._least > self._most:
            raise _EnoughError
        self._gone = gone
        start = self._at.of(self._current - gone)
        self._left = list(self._at.wanted)
        worth = 0
        for rank, _, pods in self._at.placement(start):
            self._left[rank] -= pods
            worth += pods * self._worth[rank]
        return self._go(start, worth)

    @cached_property
    def _current(self) -> Counter[Step]:
        """The running pods that may be evicted."""
        return Counter({step: len(pods) for step, pods in self._pending.running.items()})

    def _evictions(self) -> Iterator[Counter[Step]]:
        """Every choice of pods to evict within the budgets, the smallest first."""
        template_of = self._pending.problem.template_of
        limits = [
            ({int(template_of[pod]) for pod in pods}, allowed) for pods, allowed in self._pending.budgets
        ]
        choices = product(*(range(pods, -1, -1) for pods in self._current.values()))
        for choice in sorted(choices, key=sum):
            gone = Counter({place: pods for place, pods in zip(self._current, choice, strict=True) if pods})
            if all(_of(gone, covered) <= allowed for covered, allowed in limits):
                yield gone

    def _go(self, position: Position, worth: int) -> bool:
        """Look at a position and all that follow; False when there was no more time."""
        if position in self._seen:
            return True
        self._seen.add(position)
        if worth >= self._least and self._is_allowed(position):
            self._keep(worth)
        self._meter.spend(self._meter.effort.sequences.price_of_position)
        if len(self._seen) % _NOW_AND_THEN == 0 and self._meter.over():
            return False
        if worth + self._gain_bound(position) < self._least:
            return True
        return all(self._come(rank, position, worth) for rank in self._by_worth if self._left[rank])

    def _come(self, rank: int, position: Position, worth: int) -> bool:
        """Bind one more pod of a template, wherever it is accepted."""
        self._left[rank] -= 1
        done = True
        for node in self._at.accepting(rank, position):
            self._path.append((rank, node))
            done = self._go(self._at.after(position, rank, node), worth + self._worth[rank])
            self._path.pop()
            if not done:
                break
        self._left[rank] += 1
        return done

    def _gain_bound(self, position: Position) -> int:
        """An upper bound on what pods without a place yet can add."""
        return sum(
            min(left, self._at.capacity(rank, position)) * worth
            for rank, (left, worth) in enumerate(zip(self._left, self._worth, strict=True))
            if left
        )

    def _is_allowed(self, position: Position) -> bool:
        if not self._gone or self._may_end is None:
            return True
        self._at.stand(position)
        return self._may_end()

    def _keep(self, worth: int) -> None:
        binds = [(self._at.templates[rank], node) for rank, node in self._path]
        self.best = FoundSequence(self._gone, binds)
        self._least = worth + 1
        if self._least > self._most:
            raise _EnoughError


class _EnoughError(Exception):
    """Nothing better is possible."""


def _reachable(placed: Sequence[int], bounds: Sequence[int], pending: Pending) -> list[int]:
    """Bounds that hold together: behind the first that is not reached the others speak of other plans."""
    found, every = list[int](), pending.of_priorities(pending.wanted)
    for bound, most in zip(bounds, every, strict=True):
        found.append(bound if found == list(placed[: len(found)]) else most)
    return found


def _of(gone: Counter[Step], covered: set[int]) -> int:
    return sum(pods for (number, _), pods in gone.items() if number in covered)
