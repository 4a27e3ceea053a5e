"""The fewest moves that repair the spread: breadth first over single moves, every state looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.truth import manifests
from tests.truth.digits import State
from tests.truth.tiny_cluster import TinyCluster

#: States looked at before the search gives up.
LIMIT = 60_000
#: The state before the last move, and that move: kind, source, target.
Parents = dict[State, tuple[State, int, int, int] | None]

#: Hard excess, then soft excess where it matters.
Rank = tuple[int, ...]


@dataclass
class Moved:
    """What moves can do at best, and after so many moves."""

    rank: Rank
    moves: int
    weight: int
    complete: bool
    states: int
    #: After so many moves the least excess.
    ranks: list[Rank] = field(default_factory=list)
    path: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def excess(self) -> int:
        """The least hard excess."""
        return self.rank[0]

    @property
    def curve(self) -> list[int]:
        """After so many moves the least hard excess."""
        return [rank[0] for rank in self.ranks]


class Moving:
    """The search over placements of the running pods."""

    def __init__(
        self, tiny: TinyCluster, *, away: bool = True, soft: bool = False, limit: int = LIMIT
    ) -> None:
        """With `away` nothing may be worse while a pod has left and not yet landed, either.

        Nor may a pod then be without the peers that its affinity requires.
        """
        self._tiny = tiny
        self._away = away
        self._soft_goals = [row.excess for row in tiny.rows if soft and not row.hard]
        self._soft = soft
        self._limit = limit
        self._movable = [n for n, kind in enumerate(tiny.kinds) if kind.movable and kind.running]
        self.weights = self._weights()
        self._excess: dict[State, tuple[int, ...]] = {}

    def _weights(self) -> dict[int, int]:
        """1 for the lowest priority and deletion cost among the movable, one more for each higher one."""
        ranks = {n: (self._tiny.kinds[n].priority, deletion_cost(self._tiny, n)) for n in self._movable}
        order = sorted(set(ranks.values()))
        return {n: order.index(rank) + 1 for n, rank in ranks.items()}

    def excess(self, state: State) -> tuple[int, ...]:
        """What each hard constraint has too much."""
        found = self._excess.get(state)
        if found is None:
            found = self._excess[state] = self._tiny.excess(state)
        return found

    def rank(self, state: State) -> Rank:
        """What is too much, hard, and soft if that matters."""
        hard = sum(self.excess(state))
        return (hard, sum(goal(state) for goal in self._soft_goals)) if self._soft else (hard,)

    def next(self, state: State) -> Iterator[tuple[int, int, int, State]]:
        """Kind, source, target and what comes of it, for every single move that is allowed."""
        tiny, before = self._tiny, self.excess(state)
        lacking = tiny.lacking(state) if tiny.affinity_peers else frozenset()
        for kind in self._movable:
            for source in range(len(tiny.nodes)):
                if not tiny.count(state, kind, source):
                    continue
                gone = state - tiny.delta[kind][source]
                if self._away and (self._worse(gone, before) or self._lacks_more(gone, lacking)):
                    continue
                targets = tiny.feasible(gone, kind) & ~(1 << source)
                for target in range(len(tiny.nodes)):
                    if not targets >> target & 1:
                        continue
                    after = gone + tiny.delta[kind][target]
                    if self._worse(after, before) or self._lacks_more(after, lacking):
                        continue
                    yield kind, source, target, after

    def _worse(self, state: State, before: tuple[int, ...]) -> bool:
        """Whether some hard constraint has more too much than before."""
        return any(one > other for one, other in zip(self.excess(state), before, strict=True))

    def _lacks_more(self, state: State, before: frozenset[tuple[int, int]]) -> bool:
        """Whether some pod is without peers that it needs, and was not before."""
        return bool(self._tiny.affinity_peers) and not self._tiny.lacking(state) <= before

    def run(self) -> Moved:
        """Level by level until nothing is too much, or nothing is new."""
        start = self._tiny.start
        least = self.rank(start)
        best = Moved(least, 0, 0, True, 1, [least])
        parents: Parents = {start: None}
        level: dict[State, int] = {start: 0}
        found = start
        while level and any(best.rank) and best.complete:
            level = self._following(level, parents)
            best.complete = len(parents) <= self._limit
            for state, weight in level.items():
                rank = self.rank(state)
                same = rank == best.rank and best.moves == len(best.ranks)
                if rank < best.rank or (same and weight < best.weight):
                    best.rank, best.moves, best.weight = rank, len(best.ranks), weight
                    found = state
            best.ranks.append(best.rank)
        best.states = len(parents)
        best.path = path_to(parents, found)
        return best

    def _following(self, level: dict[State, int], parents: Parents) -> dict[State, int]:
        """The states one move further that are new, with the least weight that leads there."""
        following: dict[State, int] = {}
        for state, weight in level.items():
            for kind, source, target, after in self.next(state):
                cost = weight + self.weights[kind]
                if after not in parents or (after in following and cost < following[after]):
                    parents[after] = state, kind, source, target
                    following[after] = cost
            if len(parents) > self._limit:
                break
        return following


def path_to(parents: Parents, state: State) -> list[tuple[int, int, int]]:
    """The moves that lead to a state."""
    path: list[tuple[int, int, int]] = []
    while (step := parents[state]) is not None:
        state, kind, source, target = step
        path.insert(0, (kind, source, target))
    return path


def deletion_cost(tiny: TinyCluster, kind: int) -> int:
    """What the annotation says that it costs to delete a pod of the kind; 0 where it says nothing."""
    notes = tiny.kinds[kind].pod["metadata"].get("annotations") or {}
    text = str(notes.get("controller.kubernetes.io/pod-deletion-cost", "0"))
    return int(text) if manifests.is_number(text) else 0


def told(tiny: TinyCluster, path: Iterable[tuple[int, int, int]]) -> list[str]:
    """The moves, line by line."""
    return [
        f"move {_name(tiny, kind)} {tiny.names[source]} -> {tiny.names[target]}"
        for kind, source, target in path
    ]


def _name(tiny: TinyCluster, kind: int) -> str:
    return f"[{', '.join(name for names in tiny.kinds[kind].running.values() for name in names)}]"
