"""The best that any order of binds can do, with or without evictions before: every state is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from tests.truth.digits import State
from tests.truth.tiny_cluster import TinyCluster

Value = tuple[int, ...]
#: What was done last, and to which state: (kind, node), or None where the pods evicted were taken away.
Trace = dict[State, tuple[State, int, int] | None]

#: States looked at before the search gives up.
LIMIT = 150_000


@dataclass
class Placed:
    """Pods that run at the end, the highest priority first, and the fewest evictions for that."""

    priorities: tuple[int, ...]
    value: Value
    before: Value
    evictions: int
    complete: bool
    states: int
    #: The best states; all of them when all were asked for.
    best: list[State] = field(default_factory=list)
    trace: Trace = field(default_factory=dict)

    @property
    def gained(self) -> int:
        """Pods that run at the end less those that ran before."""
        return sum(self.value) - sum(self.before)


class Placing:
    """The search over multisets of pods on nodes."""

    def __init__(self, tiny: TinyCluster, *, moves: bool, every: bool = False, limit: int = LIMIT) -> None:
        self._tiny = tiny
        self._moves = moves
        self._every = every
        self._limit = limit
        kinds = tiny.kinds
        taking = [n for n, kind in enumerate(kinds) if kind.waiting or (moves and kind.movable)]
        self.priorities = tuple(sorted({kinds[n].priority for n in taking}, reverse=True))
        self._most = [tiny.total(tiny.start, n) + kind.waiting for n, kind in enumerate(kinds)]
        self._values: dict[int, tuple[Value, list[int]]] = {}
        self._before = tiny.excess(tiny.start)
        # Kinds that the filters refuse every node even in an empty cluster.
        self._unschedulable = [
            n for n, kind in enumerate(kinds) if kind.waiting and not tiny.fits[n][0](tiny.start)
        ]

    def value(self, state: State) -> tuple[Value, list[int]]:
        """Running pods that may count, by priority, and the kinds of which there are more to bind."""
        totals = self._tiny.totals(state)
        found = self._values.get(totals)
        if found is None:
            kinds, left = self._tiny.kinds, []
            counts = dict.fromkeys(self.priorities, 0)
            for number, kind in enumerate(kinds):
                count = self._tiny.total(state, number)
                if count < self._most[number]:
                    left.append(number)
                if kind.priority in counts and (kind.waiting or kind.movable):
                    counts[kind.priority] += count
            found = self._values[totals] = tuple(counts.values()), left
        return found

    def run(self) -> Placed:
        """Costs one after the other: what needs fewer evictions is seen first."""
        start = self.value(self._tiny.start)[0]
        best = Placed(self.priorities, start, start, 0, True, 0, [self._tiny.start])
        top = self._top()
        for cost in range(self._most_evictions() + 1):
            seeds = [seed for seed in dict.fromkeys(self._seeds(cost)) if seed not in best.trace]
            best.trace |= dict.fromkeys(seeds)
            best.complete = self._explore(seeds, cost, top, best)
            if not best.complete or best.value == top:
                break
        best.states = len(best.trace)
        return best

    def _explore(self, stack: list[State], cost: int, top: Value, best: Placed) -> bool:
        """All that binds lead to; whether the search came to its end."""
        while stack:
            state = stack.pop()
            if len(best.trace) > self._limit:
                return False
            self._expand(state, best.trace, stack)
            value = self.value(state)[0]
            if value < best.value or (value == best.value and best.evictions < cost):
                continue
            if cost and not self._keeps(state):
                continue
            if value > best.value:
                best.value, best.evictions, best.best = value, cost, []
            best.best.append(state)
            if value == top and not self._every:
                break
        return True

    def _expand(self, state: State, trace: Trace, stack: list[State]) -> None:
        for number in self.value(state)[1]:
            nodes, delta = self._tiny.feasible(state, number), self._tiny.delta[number]
            node = 0
            while nodes:
                if nodes & 1:
                    after = state + delta[node]
                    if after not in trace:
                        trace[after] = (state, number, node)
                        stack.append(after)
                nodes >>= 1
                node += 1

    def _keeps(self, state: State) -> bool:
        """No hard constraint has more too much than in the beginning."""
        after = self._tiny.excess(state)
        return all(one <= other for one, other in zip(after, self._before, strict=True))

    def _top(self) -> Value:
        """What nothing can beat: every pod that has any node at all."""
        counts = dict.fromkeys(self.priorities, 0)
        for number, kind in enumerate(self._tiny.kinds):
            if kind.priority in counts and (kind.waiting or kind.movable):
                waiting = 0 if number in self._unschedulable else kind.waiting
                counts[kind.priority] += self._tiny.total(self._tiny.start, number) + waiting
        return tuple(counts.values())

    def _evictable(self) -> list[tuple[int, int]]:
        """Kind and node of every pod that may be evicted."""
        return [
            (number, node)
            for number, kind in enumerate(self._tiny.kinds)
            if kind.movable
            for node, names in kind.running.items()
            for _ in names
        ]

    def _most_evictions(self) -> int:
        return len(self._evictable()) if self._moves else 0

    def _seeds(self, cost: int) -> Iterator[State]:
        """What is left when so many pods are evicted within the budgets."""
        for chosen in combinations(self._evictable(), cost):
            if self._tiny.may_be_evicted_together([self._tiny.kinds[kind].pod for kind, _ in chosen]):
                yield self._tiny.start - sum(self._tiny.delta[kind][node] for kind, node in chosen)


def told(tiny: TinyCluster, placed: Placed) -> list[str]:
    """How the best state comes about, line by line."""
    state, binds = placed.best[0], []
    while (step := placed.trace.get(state)) is not None:
        state, kind, node = step
        binds.append(f"bind {_name(tiny, kind)} -> {tiny.names[node]}")
    gone = [
        f"evict {tiny.count(tiny.start, k, n) - tiny.count(state, k, n)} x {_name(tiny, k)} from "
        f"{tiny.names[n]}"
        for k in range(len(tiny.kinds))
        for n in range(len(tiny.nodes))
        if tiny.count(tiny.start, k, n) > tiny.count(state, k, n)
    ]
    return gone + binds[::-1]


def _name(tiny: TinyCluster, kind: int) -> str:
    """One pod that stands for its kind."""
    found = tiny.kinds[kind]
    names = [*(name for some in found.running.values() for name in some), *found.names]
    return f"[{', '.join(names)}]"
