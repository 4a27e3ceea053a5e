"""One wave in every order: evictions, ends, and landings on any node that the scheduler may choose.

Exhaustive as long as there are few states, else random ways through the wave.  Old pods may linger until the
wave ends; then all of them are gone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.truth.adversary.controllers import Controllers
from tests.truth.adversary.failures import Failure, FailureKind
from tests.truth.adversary.ground import Answer, Excess, Ground, leaving_of, replacement_of
from tests.truth.adversary.moves import PlannedMove

#: Where the replacements of earlier waves have landed, by the numbers of their moves.
Landed = tuple[tuple[int, str], ...]


class Progress(NamedTuple):
    """How far one move is: the old pod runs (0), terminates (1) or is gone (2), and its replacement."""

    old: int = 0
    made: bool = False
    node: str | None = None
    nominated: str | None = None


#: The progress of every move of a wave.
WaveProgress = tuple[Progress, ...]


class Broken(Exception):
    """An event that must not happen."""

    def __init__(self, kind: FailureKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True)
class Limits:
    """So many states are looked at one by one; beyond that so many random ways through a wave."""

    states: int = 1500
    walks: int = 40
    starts: int = 24


@dataclass
class Cast:
    """What all waves of a plan share."""

    moves: Sequence[PlannedMove]
    controllers: Controllers
    ground: Ground
    excess: Excess
    #: The same with the nodes cordoned that a move closes.
    closed: Mapping[tuple[str, ...], Ground] = field(default_factory=dict)
    #: Whether constraints may be worse while a wave is under way: at its end none is worse than at first.
    worse_meanwhile: bool = False

    def named(self, move: PlannedMove) -> str:
        """The name of the pod that a move evicts: an earlier replacement where it moves once more."""
        before = [m for m in self.moves if m.pod == move.pod and m.number < move.number]
        return replacement_of(before[-1]) if before else move.pod


class Wave:
    """The moves of one wave from one outcome of those before."""

    def __init__(self, cast: Cast, moves: Sequence[PlannedMove], landed: Landed) -> None:
        self._cast = cast
        self._moves = moves
        self._names = [cast.named(move) for move in moves]
        self._landed = dict(landed)
        at_first = {} if cast.worse_meanwhile else self.pods(tuple(Progress() for _ in moves))
        self._before = cast.excess.hard(at_first)

    def outcome(self, all_progress: WaveProgress) -> Landed:
        """Where everything is after the wave."""
        here = {move.number: progress.node for move, progress in zip(self._moves, all_progress, strict=True)}
        return tuple(sorted((n, node) for n, node in {**self._landed, **here}.items() if node is not None))

    # Where pods are

    def pods(self, all_progress: WaveProgress) -> dict[str, str | None]:
        """Where pods of the snapshot, or what replaced them, are; None while they are away."""
        found: dict[str, str | None] = {}
        for move in self._cast.moves:
            if move.number in self._landed:
                found[move.pod] = self._landed[move.number]
        for move, progress in zip(self._moves, all_progress, strict=True):
            if progress.old:
                found[move.pod] = progress.node
        return found

    def _positions(self, all_progress: WaveProgress) -> dict[str, str | None]:
        """The same for the scheduler: every pod by its own name, those that terminate as well."""
        found: dict[str, str | None] = {}
        for move in self._cast.moves:
            if move.number in self._landed:
                found[self._cast.named(move)] = None
                found[replacement_of(move)] = self._landed[move.number]
        for name, move, progress in zip(self._names, self._moves, all_progress, strict=True):
            if progress.old:
                found[name] = None
            if progress.old == 1:
                found[leaving_of(move)] = move.source
            if progress.node is not None:
                found[replacement_of(move)] = progress.node
        return found

    # Events

    def next(self, all_progress: WaveProgress) -> Iterator[tuple[str, WaveProgress]]:
        """Every event that may come next; `Broken` where it must not."""
        for number, progress in enumerate(all_progress):
            move = self._moves[number]
            if progress.old == 0 and not self._is_held_back(number, all_progress):
                yield f"evict {move.pod}", self._with(all_progress, number, Progress(1))
            if progress.old == 1:
                yield f"end {move.pod}", self._with(all_progress, number, progress._replace(old=2))
            if progress.made and progress.node is None:
                yield from self._tried(number, all_progress)

    def _tried(self, number: int, all_progress: WaveProgress) -> Iterator[tuple[str, WaveProgress]]:
        """What the scheduler may do with a replacement."""
        move, progress = self._moves[number], all_progress[number]
        answer = self._answer(move, all_progress, progress)
        if answer.victims:
            raise Broken("preempts", f"the replacement of {move.pod} preempts {', '.join(answer.victims)}")
        if not answer.nodes and answer.nominated not in (None, progress.nominated):
            waits = progress._replace(nominated=answer.nominated)
            yield f"{move.pod} is nominated to {answer.nominated}", self._with(all_progress, number, waits)
        for node in sorted(answer.nodes):
            if node not in move.lands:
                lands = ", ".join(sorted(move.lands))
                raise Broken("elsewhere", f"the replacement of {move.pod} may land on {node}, not on {lands}")
            landed = progress._replace(node=node, nominated=None)
            yield f"{move.pod} lands on {node}", self._with(all_progress, number, landed)

    def _answer(self, move: PlannedMove, all_progress: WaveProgress, progress: Progress) -> Answer:
        ground = self._cast.closed[move.cordon] if move.cordon else self._cast.ground
        return ground.answer(self._positions(all_progress), move, progress.nominated)

    def _is_held_back(self, number: int, all_progress: WaveProgress) -> bool:
        """A pin is on the template, or a cordon on nodes, for one replacement at a time."""
        move = self._moves[number]
        owner = self._owner(number)
        under_way = [
            other
            for other, progress in enumerate(all_progress)
            if progress.old and progress.node is None and self._owner(other) == owner
        ]
        return any(move.steered or self._moves[other].steered for other in under_way)

    def _owner(self, number: int) -> str:
        pod = self._cast.controllers.pods[self._moves[number].pod]
        owner = (pod["metadata"].get("ownerReferences") or [{}])[0]
        return f"{pod['metadata']['namespace']}/{owner.get('kind')}/{owner.get('name')}"

    def _with(self, all_progress: WaveProgress, number: int, progress: Progress) -> WaveProgress:
        """The progress of all with one move further, and what controllers make of it."""
        found = [*all_progress]
        found[number] = progress
        for other, one in enumerate(found):
            if not one.made and self._is_made(other, found):
                found[other] = one._replace(made=True)
        return tuple(found)

    def _is_made(self, number: int, all_progress: Sequence[Progress]) -> bool:
        pod, old = self._moves[number].pod, all_progress[number].old
        if old < (2 if self._cast.controllers.waits_for_the_end(pod) else 1):
            return False
        needed = self._cast.controllers.needed_first(pod)
        away = {m.pod for m, p in zip(self._moves, all_progress, strict=True) if p.old and p.node is None}
        return needed is not None and away.isdisjoint(needed)

    # What must hold

    def check(self, all_progress: WaveProgress) -> None:
        """Nothing is worse than before the wave."""
        if not self._cast.worse_meanwhile:
            self._check_constraints(all_progress)

    def _check_constraints(self, all_progress: WaveProgress) -> None:
        now = self._cast.excess.hard(self.pods(all_progress))
        for name, before, after in zip(self._cast.excess.names(), self._before, now, strict=True):
            if after > before:
                raise Broken("worse", f"a constraint of {name} has {after} too many where it had {before}")

    def check_end(self, all_progress: WaveProgress) -> None:
        """With nothing left to happen every replacement runs."""
        for move, progress in zip(self._moves, all_progress, strict=True):
            if not progress.made:
                raise Broken("not made", f"nothing makes {move.pod} again")
            if progress.node is None:
                raise Broken("pending", f"the replacement of {move.pod} finds no node")
        self._check_constraints(all_progress)


@dataclass
class Played:
    """What came of a wave: the outcomes, and failures, one of a kind."""

    outcomes: set[Landed] = field(default_factory=set)
    failures: dict[FailureKind, Failure] = field(default_factory=dict)
    states: int = 0
    whole: bool = True


def play(
    cast: Cast, moves: Sequence[PlannedMove], starts: Sequence[Landed], limits: Limits, seed: int
) -> Played:
    """All that may happen in a wave from several outcomes of those before."""
    played = Played()
    for start in starts:
        wave = Wave(cast, moves, start)
        if not _exhaust(wave, moves, played, limits.states // len(starts)):
            played.whole = False
            chance = random.Random(seed)
            for _ in range(max(3, limits.walks // len(starts))):
                _walk(wave, moves, played, chance)
        if played.failures:
            break
    return played


def _exhaust(wave: Wave, moves: Sequence[PlannedMove], played: Played, most: int) -> bool:
    """Every state that can be reached; False where there are too many."""
    first: WaveProgress = tuple(Progress() for _ in moves)
    parents: dict[WaveProgress, tuple[WaveProgress, str] | None] = {first: None}
    stack = [first]
    while stack:
        all_progress = stack.pop()
        if len(parents) > most:
            return False
        played.states += 1
        try:
            found = list(_following(wave, all_progress, played))
        except Broken as broken:
            _note(played, broken, moves, _events(parents, all_progress))
            continue
        for event, after in found:
            if after not in parents:
                parents[after] = all_progress, event
                stack.append(after)
    return True


def _walk(wave: Wave, moves: Sequence[PlannedMove], played: Played, chance: random.Random) -> None:
    """One random way through."""
    all_progress: WaveProgress = tuple(Progress() for _ in moves)
    events: list[str] = []
    while True:
        played.states += 1
        try:
            found = list(_following(wave, all_progress, played))
        except Broken as broken:
            _note(played, broken, moves, events)
            return
        if not found:
            return
        event, all_progress = chance.choice(found)
        events.append(event)


def _following(wave: Wave, all_progress: WaveProgress, played: Played) -> Iterator[tuple[str, WaveProgress]]:
    """The states that follow, after what must hold in this one was looked at."""
    wave.check(all_progress)
    found = list(wave.next(all_progress))
    if not found:
        wave.check_end(all_progress)
        played.outcomes.add(wave.outcome(all_progress))
    yield from found


def _events(
    parents: Mapping[WaveProgress, tuple[WaveProgress, str] | None], all_progress: WaveProgress
) -> list[str]:
    found: list[str] = []
    while (step := parents[all_progress]) is not None:
        all_progress, event = step
        found.insert(0, event)
    return found


def _note(played: Played, broken: Broken, moves: Sequence[PlannedMove], events: Sequence[str]) -> None:
    failure = Failure(broken.kind, moves[0].wave, str(broken), tuple(events))
    known = played.failures.get(broken.kind)
    if known is None or len(known.events) > len(events):
        played.failures[broken.kind] = failure
