"""Waves for moves, planned again with hints as long as moves are left over or constraints stay broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from planner.eviction.protections import SOFT
from planner.landing.landing import HELD, Landing, LandingContradiction
from planner.landing.room import Room
from planner.moves.pin_policy import NO_PINS
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.proof.meter import Meter
from planner.waves.known_place_waves import KnownPlaceWaves
from planner.waves.one_by_one import OneByOne
from planner.waves.open_waves import OpenWaves, RetryHints, WaveRules
from planner.waves.scarce_room_waves import ScarceRoomWaves
from planner.waves.single_node_waves import SingleNodeWaves


@dataclass(frozen=True, slots=True)
class WavePlan:
    """Waves, the moves that could not be scheduled safely, and the hard and soft excess that remains.

    `excess` counts soft excess only where soft constraints are to be repaired.  `weight` is the sum over all
    pods that move.  `soft_excess_left` is the soft excess where ties go to the smallest name, in any case.
    `unmet` are the moves left over where the rules need all of them, and not only what they repair.
    """

    waves: Sequence[Sequence[Landing]]
    left: Sequence[Move]
    excess: tuple[int, int]
    weight: int = 0
    soft_excess_left: int = 0
    unmet: int = 0

    @property
    def key(self) -> tuple[int, ...]:
        """The smaller, the better: excess, unmet, moves, pins, weight, soft excess, landings by scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        pins, by_scores = sum(kind in HELD for kind in kinds), kinds.count("scores")
        return *self.excess, self.unmet, len(kinds), pins, self.weight, self.soft_excess_left, by_scores

    @property
    def moves(self) -> list[Move]:
        """All moves in the order of their waves."""
        return [landing.move for wave in self.waves for landing in wave]

    @property
    def pinned(self) -> set[int]:
        """The pods whose replacements are pinned, or kept off cordoned nodes."""
        return {landing.move.pod for wave in self.waves for landing in wave if landing.kind in HELD}

    def is_as_planned(self, planned: Mapping[str, int]) -> bool:
        """Whether nothing could be better but the number of landings that rely on scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        improvable = not HELD.isdisjoint(kinds) or len(kinds) > planned["moves"] or self.soft_excess_left > 0
        return not (self.left or self.misses(planned) or improvable)

    def misses(self, planned: Mapping[str, int]) -> bool:
        """Whether more excess remains than the moves were to leave."""
        return self.excess > (planned["hardExcess"], planned["softExcess"])


@dataclass(frozen=True, slots=True)
class WavePlanner:
    """Plans waves for moves on a trial cluster."""

    trial: TrialCluster
    rules: WaveRules
    meter: Meter

    def of(
        self,
        moves: Sequence[Move],
        planned: Mapping[str, int],
        others: Callable[[], Iterable[Sequence[Move]]],
        best: WavePlan | None = None,
    ) -> WavePlan:
        """The best plan for the moves, or for `others` where the plan could be better.

        `best` is the result of `with_retries`, if it is known already.
        """
        best = best or self.with_retries(moves, planned)
        if not self.is_large(moves):
            self.meter.look_for("landings that need no pin")
            for other in chain(others(), [None]):
                if best.is_as_planned(planned) or self.meter.over():
                    break
                if other is None:
                    found = self._one_by_one(moves, planned, replace(self.rules, pin_policy=NO_PINS))
                else:
                    found = self.with_retries(other, planned)
                best = min(best, found, key=lambda one: one.key)
        self.meter.look_for("a safe wave for every move")
        if best.left or best.misses(planned):
            best = min(best, self._one_by_one(moves, planned, self.rules), key=lambda one: one.key)
        if (best.left or best.misses(planned)) and self._size(moves) <= effort.ONE_MOVE_A_WAVE_MOST:
            best = min(best, self.one_move_a_wave(moves), key=lambda one: one.key)
        return best

    def _size(self, moves: Sequence[Move]) -> int:
        return len(moves) * self.trial.problem.nodes.size

    def is_large(self, moves: Sequence[Move]) -> bool:
        """Whether planning takes so long that it is done once."""
        return self._size(moves) > effort.PLANNED_ONCE

    def one_move_a_wave(self, moves: Sequence[Move]) -> WavePlan:
        """The moves one after the other, one per wave."""
        timeline = EvictionTimeline(self.trial.problem, moves, self.trial)
        found = self._plan_with(timeline, OneByOne(timeline, moves, self.rules), self.meter.over)
        return self._nothing(moves) if found is None else found

    def with_retries(self, moves: Sequence[Move], planned: Mapping[str, int]) -> WavePlan:
        """The moves in waves, each open to all nodes that are as good; in a large cluster planned only once.

        Where that leaves moves over, once more with one known node for every replacement.
        """
        self.meter.look_for("a safe wave for every move")
        best = self._once(moves) if self.is_large(moves) else self._again_and_again(moves, planned)
        if best.left and self.rules.pin_policy and not self.meter.over():
            timeline = EvictionTimeline(self.trial.problem, moves, self.trial)
            known = self._plan_with(timeline, KnownPlaceWaves(timeline, moves, self.rules), self.meter.over)
            best = best if known is None else min(best, known, key=lambda one: one.key)
        return best

    def _once(self, moves: Sequence[Move]) -> WavePlan:
        """A single plan, in the order for scarce room if most moves have few nodes to come to."""
        timeline, tight = EvictionTimeline(self.trial.problem, moves, self.trial), _tight(self.trial, moves)
        if len(tight) > effort.SCARCE_MOVES * len(moves):
            builder: OpenWaves = ScarceRoomWaves(timeline, moves, self.rules)
        else:
            builder = OpenWaves(timeline, moves, self.rules, RetryHints(frozenset(tight)))
        # Waves are planned even if the search took all of the time.
        found, nothing = self._plan_with(timeline, builder, _never), self._nothing(moves)
        return nothing if found is None else min(nothing, found, key=lambda one: one.key)

    def _again_and_again(self, moves: Sequence[Move], planned: Mapping[str, int]) -> WavePlan:
        """The best of several plans, each with hints about what could not be scheduled in those before.

        Room is reserved the next time for moves that could not be scheduled; then replicas also go one by one
        to their planned domains.  In the last attempt the waves follow the moves' own order.
        """
        best, rules = self._nothing(moves), self.rules
        reserved, fixed, tight = set[int](), set[int](), _tight(self.trial, moves)
        first, number, ranks = dict[int, int](), 0, 0
        # Waves are planned even if the search took all of the time.
        is_over: Callable[[], bool] = _never
        while number <= effort.WAVE_PLANS and not is_over():
            strict = number == effort.WAVE_PLANS
            hints = RetryHints(
                frozenset(tight | reserved), frozenset(reserved), frozenset(fixed), strict, first
            )
            timeline = EvictionTimeline(self.trial.problem, moves, self.trial)
            builder = OpenWaves(
                timeline, moves, replace(rules, max_unavailable=1) if number else rules, hints
            )
            found, is_over = self._plan_with(timeline, builder, is_over), self.meter.over
            if found is None:
                # The landings contradict each other: the next attempt reserves room for every move.
                reserved |= {move.pod for move in moves}
                number += 1
                continue
            best = min(best, found, key=lambda one: one.key)
            hard = found.pinned | {move.pod for move in found.left}
            if len(found.left) - len(best.left) > effort.MORE_UNSCHEDULED * len(moves):
                # Moving these first leaves too many others without a wave.
                ranks, first = effort.FAILED_FIRST, {}
            if not ((number and found.left) or hard <= {*first}) and ranks < effort.FAILED_FIRST:
                # Moves that needed a pin, or found no wave, have more options while every landing is certain.
                ranks += 1
                first = first | dict.fromkeys(hard, ranks)
                continue
            fresh = {move.pod for move in found.left} | _of_broken(timeline, moves, rules)
            if not (found.left or found.misses(planned)) or fresh <= fixed:
                break
            fixed |= fresh & reserved
            reserved |= fresh
            number += 1
        return best

    def _one_by_one(self, moves: Sequence[Move], planned: Mapping[str, int], rules: WaveRules) -> WavePlan:
        """The moves each to one certain node; room is reserved the next time for those left over."""
        best = self._nothing(moves)
        reserved: set[int] = set()
        is_over: Callable[[], bool] = _never
        for number in range(effort.WAVE_PLANS):
            if is_over():
                break
            timeline = EvictionTimeline(self.trial.problem, moves, self.trial)
            chosen = replace(rules, max_unavailable=1) if number else rules
            strict = number == effort.WAVE_PLANS - 1
            builder = SingleNodeWaves(timeline, moves, chosen, reserved=reserved, strict=strict)
            found, is_over = self._plan_with(timeline, builder, is_over), self.meter.over
            if found is None:
                continue
            best = min(best, found, key=lambda one: one.key)
            if not (found.left or found.misses(planned)):
                break
            reserved |= {move.pod for move in found.left}
        return best

    def _plan_with(
        self,
        timeline: EvictionTimeline,
        builder: OpenWaves | SingleNodeWaves | OneByOne,
        is_over: Callable[[], bool],
    ) -> WavePlan | None:
        """The plan that a wave builder makes; None if its landings contradict each other."""
        hard, soft = (
            self.trial.ledger.excess(hard=kind) - timeline.trial.ledger.excess(hard=kind)
            for kind in (True, False)
        )
        try:
            left = builder.plan_waves(is_over)
        except LandingContradiction:
            return None
        # The timeline has only the constraints that its moves touch.
        hard, soft = (
            hard + timeline.trial.ledger.excess(hard=True),
            soft + timeline.trial.ledger.excess(hard=False),
        )
        pods = [landing.move.pod for wave in builder.waves for landing in wave]
        weight = int(self.rules.weights[pods].sum()) if pods else 0
        excess = hard, soft if SOFT in self.rules.kinds else 0
        return WavePlan(builder.waves, left, excess, weight, soft, self._unmet(left))

    def _nothing(self, moves: Sequence[Move]) -> WavePlan:
        """The empty plan: all moves are left over."""
        hard, soft = (self.trial.ledger.excess(hard=kind) for kind in (True, False))
        excess = hard, soft if SOFT in self.rules.kinds else 0
        return WavePlan((), moves, excess, 0, soft, self._unmet(moves))

    def _unmet(self, left: Sequence[Move]) -> int:
        return len(left) if self.rules.needs_all else 0


def _never() -> bool:
    return False


def _tight(trial: TrialCluster, moves: Sequence[Move]) -> set[int]:
    """The pods for which few nodes have room."""
    room, found = Room(trial), set[int]()
    free, known = room.free(), dict[int, bool]()
    for move in moves:
        template = trial.template(move.pod)
        if template not in known:
            static = trial.plan(template).static
            fits = room.fits(template, free) & static
            known[template] = int(fits.sum()) <= effort.SCARCE_ROOM * int(static.sum())
        if known[template]:
            found.add(move.pod)
    return found


def _of_broken(timeline: EvictionTimeline, moves: Sequence[Move], rules: WaveRules) -> set[int]:
    """The moves of pods that a constraint counts which is still broken."""
    broken = {t for constraint in timeline.trial.ledger.broken(rules.kinds) for t in constraint.members}
    return {move.pod for move in moves if timeline.trial.template(move.pod) in broken}
