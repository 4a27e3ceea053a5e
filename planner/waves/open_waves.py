"""Moves in waves: whatever is under way together holds, whichever of it finishes first.

Every move is judged alone first, then together with the others of its wave: what they leave, and what
they may take wherever they land.  Moves that would need a pin wait as long as others can go before
them: what those change may make the pin needless.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.eviction.budgets import Budgets
from planner.landing.coupled_constraints import coupled_constraints
from planner.landing.landing import Landing, LandingPreferences
from planner.landing.wave_landings import WaveLandings
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.pin_policy import NO_PINS, PinPolicy
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof import effort


@dataclass(frozen=True, slots=True)
class WaveRules:
    """What may be under way at the same time, what may be steered, and which constraints matter.

    `weights` says what each pod's move costs.  No replacement may preempt others, unless it is to be found
    out which moves that prevents.
    """

    budgets: Budgets
    weights: Ints
    max_unavailable: int = 1
    pin_policy: PinPolicy = NO_PINS
    kinds: frozenset[str] = frozenset(("DoNotSchedule",))
    lets_preempt: bool = False

    @property
    def evict_only(self) -> bool:
        """Whether nothing may be steered."""
        return not self.pin_policy


@dataclass(frozen=True, slots=True)
class RetryHints:
    """What is heeded when waves are dealt, because it went wrong without.

    Nobody takes the room that reserved pods are to have, with `strict` that of any move; whatever counts
    together with `as_planned` pods lands in the domains that were planned, and together with fixed pods on
    nodes that are known beforehand, where that can be.  Those that are `first`, the highest number before the
    others, and whatever counts together with them, go as long as all is certain, and leave it so if scores
    can lead them.
    """

    reserved: Collection[int] = ()
    as_planned: Collection[int] = ()
    fixed: Collection[int] = ()
    strict: bool = False
    first: Mapping[int, int] = field(default_factory=dict)


class _Load:
    """What is away at the same time, of workloads, under budgets and in crowds."""

    def __init__(self, waves: OpenWaves) -> None:
        self._waves = waves
        self._workloads: Counter[str] = Counter()
        self._budgets: Counter[int] = Counter()
        self._coupled_moves: Counter[int] = Counter()

    def bears(self, move: Move) -> bool:
        """Whether one more pod may be away."""
        rules = self._waves.rules
        workload, coupled = self._waves.groups_of(move)
        return (
            self._workloads[workload] < rules.max_unavailable
            and all(self._budgets[n] < rules.budgets.allowed[n] for n in rules.budgets.asked(move.pod))
            and self._coupled_moves[coupled] < (effort.COUPLED_IN_A_WAVE if rules.max_unavailable > 1 else 1)
        )

    def add(self, move: Move) -> None:
        """Let one more pod be away."""
        workload, coupled = self._waves.groups_of(move)
        self._workloads[workload] += 1
        self._coupled_moves[coupled] += 1
        self._budgets.update(self._waves.rules.budgets.asked(move.pod))


class OpenWaves:
    """Deals moves out to waves on a stage; they happen there."""

    #: So many counts that may have come about are kept apart.
    _histograms_kept = effort.HISTOGRAMS_KEPT

    def __init__(
        self,
        stage: EvictionTimeline,
        moves: Sequence[Move],
        rules: WaveRules,
        hints: RetryHints | None = None,
    ) -> None:
        """Waves for moves, dealt with some care."""
        hints = hints or RetryHints()
        self._stage = stage
        self._trial = stage.trial
        self._left = list(moves)
        self.rules = rules
        self._hints = hints
        times = Counter(move.pod for move in moves)
        sources: dict[int, list[int]] = {}
        for move in moves:
            sources.setdefault(self._trial.template(move.pod), []).append(move.source)
        self._coupled = coupled_constraints(self._trial, sources, self._matters, self._histograms_kept)
        kept = {id(self._coupled[self._trial.template(pod)]) for pod in hints.as_planned if pod in times}
        #: Templates whose moves keep to their order and to the domains that were planned.
        self._as_planned = {t for t, coupled in self._coupled.items() if id(coupled) in kept}
        self._fixed = self._with_coupled(hints.fixed, times)
        self._first: dict[int, int] = {}
        for rank in sorted(set(hints.first.values())):
            some = [pod for pod, found in hints.first.items() if found == rank]
            self._first |= dict.fromkeys(self._with_coupled(some, times), rank)
        self._landings = WaveLandings(
            stage,
            self._coupled,
            LandingPreferences(
                pin_policy=rules.pin_policy,
                again={pod for pod, number in times.items() if number > 1},
                certain=self._first,
                fixed=self._fixed,
                as_planned=self._as_planned,
            ),
            {move.source for move in moves},
        )
        self._promised = self._promises()
        self._refused: dict[tuple[Move, object], object] = {}
        self._work = 0
        self.waves: list[list[Landing]] = []

    def _with_coupled(self, pods: Iterable[int], moving: Iterable[int]) -> set[int]:
        """All moving pods that count together with some."""
        several = [*moving]
        coupled_constraints = {
            id(self._coupled[self._trial.template(pod)]) for pod in {*pods}.intersection(several)
        }
        return {pod for pod in several if id(self._coupled[self._trial.template(pod)]) in coupled_constraints}

    def _matters(self, constraint: TrackedConstraint) -> bool:
        return constraint.hard or constraint.rule.constraint.when_unsatisfiable in self.rules.kinds

    def groups_of(self, move: Move) -> tuple[str, int]:
        """The workload of a move's pod, and what tells its crowd."""
        template = self._trial.template(move.pod)
        return self._trial.workloads[template], id(self._coupled[template])

    def plan_waves(self, is_over: Callable[[], bool]) -> Sequence[Move]:
        """All waves; the moves for which there was no safe turn are returned."""
        while self._left and not is_over():
            wave = self._next_wave()
            if not wave:
                break
            done = [landing.move for landing in wave]
            self._left = [move for move in self._left if move not in done]
            self.waves.append(self._landings.commit(wave))
            self._trial.state.forget_history()
        return self._left

    def _next_wave(self) -> list[Landing]:
        """As many moves as hold together; pinned ones only when no others are left to go first."""
        self._promised, pins = self._promises(), not self.rules.evict_only
        free = (
            self._alone(self._ready(), pins=False)
            if self._work <= effort.JUDGED_WITH_CARE or not pins
            else []
        )
        turn = max((self._first.get(landing.move.pod, 0) for landing in free), default=0)
        free = [landing for landing in free if self._first.get(landing.move.pod, 0) == turn]
        known = [landing for landing in free if landing.kind == "scores"]
        if known:
            # As long as all is certain: what comes to any of several nodes is not certain any more.
            certain = [found for found in free if int(found.nodes.sum()) == 1]
            return self._hold_together(certain or [self._landings.surest(known)])
        fixed = self._alone((m for m in self._ready() if m.pod in self._fixed), pins=pins)
        if not fixed and not free:
            free = self._alone(self._ready(), pins=pins, again=True)
        return self._hold_together(fixed or free)

    def _alone(
        self, moves: Iterable[Move], *, pins: bool, again: bool = False, plain: bool = False
    ) -> list[Landing]:
        """The landings of those moves that hold by themselves, as many as may be away at once.

        Those that were refused before are asked again when their counts or their target have changed.
        `plain` asks for nothing but a pin to the very node that was planned.
        """
        several = [*moves]
        self._landings.foresee(
            self._gather(move for move in several if again or not self._is_refused(move, pins=pins))
        )
        found, load = list[Landing](), _Load(self)
        for move in several:
            if not load.bears(move) or (self._is_refused(move, pins=pins) and not again):
                continue
            landing = None
            if self._can_leave([move]):
                self._work += self._trial.problem.nodes.size
                plain |= pins and self._work > effort.JUDGED_WITH_CARE
                landing = self._landings.judge([move], self._kept_free, pins=pins, plain=plain)[0]
            if landing is None or not self._is_welcome(landing):
                self._refused[move, self._asks(pins=pins)] = self._stamp(move)
            else:
                found.append(landing)
                load.add(move)
        return found

    def _is_refused(self, move: Move, *, pins: bool) -> bool:
        """Whether a move was refused, and nothing that it waits for has changed."""
        stamp = self._refused.get((move, self._asks(pins=pins)))
        return stamp is not None and stamp == self._stamp(move)

    def _is_welcome(self, landing: Landing) -> bool:
        """Whether a landing that holds is one that is wanted."""
        return True

    def _asks(self, *, pins: bool) -> object:
        """What tells how a move is judged."""
        return pins

    def _stamp(self, move: Move) -> object:
        """What a refused move waits for a change of."""
        free = self._landings.room.free_on(move.target).tobytes()
        return self._coupled[self._trial.template(move.pod)].histograms, free

    def _hold_together(self, alone: Sequence[Landing]) -> list[Landing]:
        """The most of some moves that keep their kind of landing when they are under way together."""
        # Whoever has nodes cordoned goes alone: nobody else is kept from them.
        alone = [landing for landing in alone if landing.kind != "cordoned"] or alone[:1]
        first = {landing.move.pod: landing for landing in alone}
        wave = [*self._gather([landing.move for landing in alone])]
        known = first
        while len(wave) > 1:
            held = self._judged(wave, known)
            if any((found.nodes & ~known[found.move.pod].nodes).any() for found in held):
                # The others were judged by a set of nodes that is too small.
                known = known | {found.move.pod: _widened(found, known[found.move.pod]) for found in held}
                wave = [found.move for found in held]
            elif held and self._can_leave([found.move for found in held]):
                return held
            else:
                wave, known = wave[: len(wave) // 2], first
        return [first[move.pod] for move in wave]

    def _judged(self, wave: Sequence[Move], known: Mapping[int, Landing]) -> list[Landing]:
        """Those of a wave that hold together, by the same kind of landing as alone."""
        pins = any(landing.kind == "pinned" for landing in known.values())
        plain = pins and self._work > effort.JUDGED_WITH_CARE
        judged = self._landings.judge(wave, self._kept_free, known, pins=pins, plain=plain)
        return [found for found in judged if found is not None and self._keeps(found, known)]

    def _keeps(self, found: Landing, known: Mapping[int, Landing]) -> bool:
        """Whether a landing is no worse than alone; who is first leaves it as certain as it was."""
        alone = known[found.move.pod]
        if found.move.pod in self._first and alone.kind == "scores":
            return found.kind == "scores"
        return _RANK[found.kind] <= _RANK[alone.kind]

    def _ready(self) -> Iterator[Move]:
        """The next move of every pod, or of every crowd that keeps to the plan."""
        seen: set[tuple[str, int]] = set()
        for move in self._left:
            template = self._trial.template(move.pod)
            keys = {("pod", move.pod)}
            if template in self._as_planned:
                keys.add(("crowd", id(self._coupled[template])))
            if not keys & seen:
                yield move
            seen |= keys

    def _gather(self, moves: Iterable[Move]) -> Iterator[Move]:
        """Those of some moves that workloads and budgets bear at once."""
        load = _Load(self)
        for move in moves:
            if load.bears(move):
                load.add(move)
                yield move

    def _can_leave(self, wave: Sequence[Move]) -> bool:
        """Whether nobody is left without the company that he needs when all of them are away."""
        mark = self._trial.state.mark()
        self._stage.put_all(wave, Phase.GONE)
        found = any(
            self._trial.breaks_affinity_of(self._trial.template(move.pod), move.source) for move in wave
        )
        self._trial.state.rollback(mark)
        return not found

    def _promises(self) -> tuple[Codes, Ints]:
        """The nodes that reserved moves are to come to, and what is free there when all have moved."""
        hints, trial = self._hints, self._trial
        coming = [move for move in self._left if hints.strict or move.pod in hints.reserved]
        nodes = np.array(sorted({move.target for move in coming}), np.intp)
        takes, free = self._landings.room.takes, self._landings.room.free()
        for move in self._left:
            free[:, move.source] += takes[trial.template(move.pod)]
        for move in coming:
            free[:, move.target] -= takes[trial.template(move.pod)]
        return nodes, free[:, nodes]

    def _kept_free(self, move: Move) -> Mask:
        """The nodes on which a replacement would take room that others are to have."""
        kept = np.zeros(self._trial.problem.nodes.size, np.bool_)
        nodes, free = self._promised
        if nodes.size:
            template = self._trial.template(move.pod)
            if self._hints.strict or move.pod in self._hints.reserved:
                free = free.copy()
                free[:, nodes == move.target] += self._landings.room.takes[template][:, np.newaxis]
            kept[nodes] = ~self._landings.room.fits(template, free)
        return kept


def _widened(found: Landing, known: Landing) -> Landing:
    """A landing with all nodes of both answers."""
    return replace(known, nodes=known.nodes | found.nodes)


_RANK = {"filters": 0, "scores": 1, "pinned": 2, "cordoned": 2}
