"""Moves in waves: all moves of a wave hold together, whichever of them finishes first.

Every move is judged alone first, then together with the others of its wave: the room that they leave, and the
room that they may take wherever they land.  Moves that would need a pin wait as long as others can go before
them: what those change may make the pin unnecessary.
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
    """How much may be under way at the same time, what may be pinned, and which constraints count.

    `weights` has the cost of moving each pod.  `lets_preempt` accepts replacements that could preempt others;
    it only serves to find out which moves that risk prevents.  With `needs_all` a move is an end in itself:
    the fewer are left over, the better, whatever they repair.
    """

    budgets: Budgets
    weights: Ints
    max_unavailable: int = 1
    pin_policy: PinPolicy = NO_PINS
    kinds: frozenset[str] = frozenset(("DoNotSchedule",))
    lets_preempt: bool = False
    needs_all: bool = False

    @property
    def evict_only(self) -> bool:
        """Whether nothing may be pinned."""
        return not self.pin_policy


@dataclass(frozen=True, slots=True)
class RetryHints:
    """What an earlier attempt to plan the waves has shown to need attention.

    `reserved`: no other move takes the room planned for these pods; with `strict` that of any move.
    `as_planned`: pods with coupled constraints land in the planned domains.
    `fixed`: pods with coupled constraints land on one known node, where possible.
    `first`: these pods, the highest number before the others, and those with coupled constraints go while
    every landing is still certain, and keep it certain if scores alone can.
    """

    reserved: Collection[int] = ()
    as_planned: Collection[int] = ()
    fixed: Collection[int] = ()
    strict: bool = False
    first: Mapping[int, int] = field(default_factory=dict)


class _Load:
    """How many pods are away at the same time: of each workload, budget and set of coupled constraints."""

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
        """Count one more pod as away."""
        workload, coupled = self._waves.groups_of(move)
        self._workloads[workload] += 1
        self._coupled_moves[coupled] += 1
        self._budgets.update(self._waves.rules.budgets.asked(move.pod))


class OpenWaves:
    """Plans waves for moves and carries them out on a timeline."""

    #: The most count vectors kept apart as possible outcomes.
    _histograms_kept = effort.HISTOGRAMS_KEPT

    def __init__(
        self,
        timeline: EvictionTimeline,
        moves: Sequence[Move],
        rules: WaveRules,
        hints: RetryHints | None = None,
    ) -> None:
        """Waves for moves; `hints` come from earlier attempts."""
        hints = hints or RetryHints()
        self._timeline = timeline
        self._trial = timeline.trial
        self._left = list(moves)
        self.rules = rules
        self._hints = hints
        times = Counter(move.pod for move in moves)
        sources: dict[int, list[int]] = {}
        for move in moves:
            sources.setdefault(self._trial.template(move.pod), []).append(move.source)
        self._coupled = coupled_constraints(self._trial, sources, self._matters, self._histograms_kept)
        kept = {id(self._coupled[self._trial.template(pod)]) for pod in hints.as_planned if pod in times}
        #: Templates whose moves keep their order and land in the planned domains.
        self._as_planned = {t for t, coupled in self._coupled.items() if id(coupled) in kept}
        self._fixed = self._with_coupled(hints.fixed, times)
        self._first: dict[int, int] = {}
        for rank in sorted(set(hints.first.values())):
            some = [pod for pod, found in hints.first.items() if found == rank]
            self._first |= dict.fromkeys(self._with_coupled(some, times), rank)
        self._landings = WaveLandings(
            timeline,
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
        """All moving pods whose constraints are coupled with those of some pods."""
        several = [*moving]
        coupled_constraints = {
            id(self._coupled[self._trial.template(pod)]) for pod in {*pods}.intersection(several)
        }
        return {pod for pod in several if id(self._coupled[self._trial.template(pod)]) in coupled_constraints}

    def _matters(self, constraint: TrackedConstraint) -> bool:
        return constraint.hard or constraint.rule.constraint.when_unsatisfiable in self.rules.kinds

    def groups_of(self, move: Move) -> tuple[str, int]:
        """The workload of a move's pod, and an identifier of its coupled constraints."""
        template = self._trial.template(move.pod)
        return self._trial.workloads[template], id(self._coupled[template])

    def plan_waves(self, is_over: Callable[[], bool]) -> Sequence[Move]:
        """Plan all waves; returns the moves that could not be scheduled safely."""
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
        """As many moves as hold together; pinned moves only when no others can go first."""
        self._promised, pins = self._promises(), not self.rules.evict_only
        free = (
            self._alone(self._ready(), pins=False)
            if self._work <= effort.JUDGED_WITH_CARE or not pins
            else []
        )
        rank = max((self._first.get(landing.move.pod, 0) for landing in free), default=0)
        free = [landing for landing in free if self._first.get(landing.move.pod, 0) == rank]
        known = [landing for landing in free if landing.kind == "scores"]
        if known:
            # While every landing is certain: a replacement with several possible nodes would end that.
            certain = [found for found in free if int(found.nodes.sum()) == 1]
            return self._hold_together(certain or [self._landings.most_certain(known)])
        fixed = self._alone((m for m in self._ready() if m.pod in self._fixed), pins=pins)
        if not fixed and not free:
            free = self._alone(self._ready(), pins=pins, again=True)
        return self._hold_together(fixed or free)

    def _alone(
        self, moves: Iterable[Move], *, pins: bool, again: bool = False, plain: bool = False
    ) -> list[Landing]:
        """The landings of the moves that hold by themselves, as many as may be away at once.

        Moves refused before are judged again only when their counts or their target have changed.
        `plain` considers only a pin to the planned node.
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
        """Whether a move was refused, and nothing that could change the answer has changed."""
        stamp = self._refused.get((move, self._asks(pins=pins)))
        return stamp is not None and stamp == self._stamp(move)

    def _is_welcome(self, landing: Landing) -> bool:
        """Whether a landing that holds is also acceptable to the order of the waves."""
        return True

    def _asks(self, *, pins: bool) -> object:
        """The key under which an answer about a move is kept: how the move was judged."""
        return pins

    def _stamp(self, move: Move) -> object:
        """The state on which a refusal depends: coupled counts, and free room on the target."""
        free = self._landings.room.free_on(move.target).tobytes()
        return self._coupled[self._trial.template(move.pod)].histograms, free

    def _hold_together(self, alone: Sequence[Landing]) -> list[Landing]:
        """The most of some moves that keep their kind of landing when they are under way together."""
        # A move that has nodes cordoned goes alone, because a cordon keeps every other replacement off them.
        alone = [landing for landing in alone if landing.kind != "cordoned"] or alone[:1]
        first = {landing.move.pod: landing for landing in alone}
        wave = [*self._gather([landing.move for landing in alone])]
        known = first
        while len(wave) > 1:
            held = self._judged(wave, known)
            if any((found.nodes & ~known[found.move.pod].nodes).any() for found in held):
                # The others were judged against a set of nodes that is too small.
                known = known | {found.move.pod: _widened(found, known[found.move.pod]) for found in held}
                wave = [found.move for found in held]
            elif held and self._can_leave([found.move for found in held]):
                return held
            else:
                wave, known = wave[: len(wave) // 2], first
        return [first[move.pod] for move in wave]

    def _judged(self, wave: Sequence[Move], known: Mapping[int, Landing]) -> list[Landing]:
        """The landings of the moves of a wave that hold together, with the same kind of landing as alone."""
        pins = any(landing.kind == "pinned" for landing in known.values())
        plain = pins and self._work > effort.JUDGED_WITH_CARE
        judged = self._landings.judge(wave, self._kept_free, known, pins=pins, plain=plain)
        return [found for found in judged if found is not None and self._keeps(found, known)]

    def _keeps(self, found: Landing, known: Mapping[int, Landing]) -> bool:
        """Whether a landing is no worse than alone; for pods in `_first` also no less certain."""
        alone = known[found.move.pod]
        if found.move.pod in self._first and alone.kind == "scores":
            return found.kind == "scores"
        return _RANK[found.kind] <= _RANK[alone.kind]

    def _ready(self) -> Iterator[Move]:
        """The next move of every pod, and only one for coupled constraints whose moves keep their order."""
        seen: set[tuple[str, int]] = set()
        for move in self._left:
            template = self._trial.template(move.pod)
            keys = {("pod", move.pod)}
            if template in self._as_planned:
                keys.add(("coupled", id(self._coupled[template])))
            if not keys & seen:
                yield move
            seen |= keys

    def _gather(self, moves: Iterable[Move]) -> Iterator[Move]:
        """As many of some moves as workloads and budgets allow at once."""
        load = _Load(self)
        for move in moves:
            if load.bears(move):
                load.add(move)
                yield move

    def _can_leave(self, wave: Sequence[Move]) -> bool:
        """Whether no pod loses a required affinity peer when all of a wave's pods are away."""
        mark = self._trial.state.mark()
        self._timeline.put_all(wave, Phase.GONE)
        found = any(
            self._trial.breaks_affinity_of(self._trial.template(move.pod), move.source) for move in wave
        )
        self._trial.state.rollback(mark)
        return not found

    def _promises(self) -> tuple[Codes, Ints]:
        """The target nodes of reserved moves, and what is free on them when all moves are done."""
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
        """The nodes on which a replacement would take room that is reserved for other moves."""
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
    """A known landing with the nodes of both landings."""
    return replace(known, nodes=known.nodes | found.nodes)


_RANK = {"filters": 0, "scores": 1, "pinned": 2, "cordoned": 2}
