"""Moves dealt out to waves, again with more care as long as something is left over or stays broken."""

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
    """Waves, the moves without a safe turn, and what hard and, where they matter, soft constraints keep.

    `weight` is that of all pods that move; `soft_excess_left` is what soft constraints keep where ties go to
    the smallest name, whether they matter or not.
    """

    waves: Sequence[Sequence[Landing]]
    left: Sequence[Move]
    excess: tuple[int, int]
    weight: int = 0
    soft_excess_left: int = 0

    @property
    def key(self) -> tuple[int, ...]:
        """The smaller, the better: what is too much, moves, pins, weights, wishes, landings by scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        pins, by_scores = sum(kind in HELD for kind in kinds), kinds.count("scores")
        return *self.excess, len(kinds), pins, self.weight, self.soft_excess_left, by_scores

    @property
    def pinned(self) -> set[int]:
        """The pods whose replacements are pinned, or kept off cordoned nodes."""
        return {landing.move.pod for wave in self.waves for landing in wave if landing.kind in HELD}

    def is_as_planned(self, planned: Mapping[str, int]) -> bool:
        """Whether nothing is left to wish for but fewer landings that rely on scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        soft_excess_left = (
            not HELD.isdisjoint(kinds) or len(kinds) > planned["moves"] or self.soft_excess_left > 0
        )
        return not (self.left or self.misses(planned) or soft_excess_left)

    def misses(self, planned: Mapping[str, int]) -> bool:
        """Whether more is too much than the moves were to leave."""
        return self.excess > (planned["hardExcess"], planned["softExcess"])


@dataclass(frozen=True, slots=True)
class WavePlanner:
    """Deals of moves on a board."""

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
        """The best deal of the moves, or of `others` that may serve as well where that one leaves a wish.

        `best` is that with care, if it was made before.
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
        self.meter.look_for("a turn for every move")
        if best.left or best.misses(planned):
            best = min(best, self._one_by_one(moves, planned, self.rules), key=lambda one: one.key)
        if (best.left or best.misses(planned)) and self._size(moves) <= effort.SINGLE_FILE:
            best = min(best, self.single_file(moves), key=lambda one: one.key)
        return best

    def _size(self, moves: Sequence[Move]) -> int:
        return len(moves) * self.trial.problem.nodes.size

    def is_large(self, moves: Sequence[Move]) -> bool:
        """Whether a deal takes so long that it is made once."""
        return self._size(moves) > effort.PLANNED_ONCE

    def single_file(self, moves: Sequence[Move]) -> WavePlan:
        """The moves one after the other."""
        stage = EvictionTimeline(self.trial.problem, moves, self.trial)
        found = self._plan_with(stage, OneByOne(stage, moves, self.rules), self.meter.over)
        return self._nothing(moves) if found is None else found

    def with_retries(self, moves: Sequence[Move], planned: Mapping[str, int]) -> WavePlan:
        """The moves in waves, each to all nodes that are as good; those of a large cluster are dealt once.

        Where that leaves some over, once more with nobody of whom it is not known where he is.
        """
        self.meter.look_for("a turn for every move")
        best = self._once(moves) if self.is_large(moves) else self._again_and_again(moves, planned)
        if best.left and self.rules.pin_policy and not self.meter.over():
            stage = EvictionTimeline(self.trial.problem, moves, self.trial)
            known = self._plan_with(stage, KnownPlaceWaves(stage, moves, self.rules), self.meter.over)
            best = best if known is None else min(best, known, key=lambda one: one.key)
        return best

    def _once(self, moves: Sequence[Move]) -> WavePlan:
        """A first deal, in the order for scarce room if most moves have few nodes to come to."""
        stage, tight = EvictionTimeline(self.trial.problem, moves, self.trial), _tight(self.trial, moves)
        if len(tight) > effort.SCARCE_MOVES * len(moves):
            builder: OpenWaves = ScarceRoomWaves(stage, moves, self.rules)
        else:
            builder = OpenWaves(stage, moves, self.rules, RetryHints(frozenset(tight)))
        # Something is dealt even if the search took all of the time.
        found, nothing = self._plan_with(stage, builder, _never), self._nothing(moves)
        return nothing if found is None else min(nothing, found, key=lambda one: one.key)

    def _again_and_again(self, moves: Sequence[Move], planned: Mapping[str, int]) -> WavePlan:
        """The best of several deals, each with more care for what found no turn in those before.

        Moves that found no turn keep their room the next time, when replicas also go one by one and where
        they were planned; at last the waves follow the moves' own order.
        """
        best, rules = self._nothing(moves), self.rules
        reserved, fixed, tight = set[int](), set[int](), _tight(self.trial, moves)
        first, number, turns = dict[int, int](), 0, 0
        # Something is dealt even if the search took all of the time.
        is_over: Callable[[], bool] = _never
        while number <= effort.WAVE_PLANS and not is_over():
            strict = number == effort.WAVE_PLANS
            hints = RetryHints(
                frozenset(tight | reserved), frozenset(reserved), frozenset(fixed), strict, first
            )
            stage = EvictionTimeline(self.trial.problem, moves, self.trial)
            builder = OpenWaves(stage, moves, replace(rules, max_unavailable=1) if number else rules, hints)
            found, is_over = self._plan_with(stage, builder, is_over), self.meter.over
            if found is None:
                # It contradicts itself: the next one keeps more apart.
                reserved |= {move.pod for move in moves}
                number += 1
                continue
            best = min(best, found, key=lambda one: one.key)
            hard = found.pinned | {move.pod for move in found.left}
            if len(found.left) - len(best.left) > effort.MORE_UNSCHEDULED * len(moves):
                # Not with these first.
                turns, first = effort.FAILED_FIRST, {}
            if not ((number and found.left) or hard <= {*first}) and turns < effort.FAILED_FIRST:
                # Whoever found nothing but a pin, or no turn, finds more as long as all is certain.
                turns += 1
                first = first | dict.fromkeys(hard, turns)
                continue
            fresh = {move.pod for move in found.left} | _of_broken(stage, moves, rules)
            if not (found.left or found.misses(planned)) or fresh <= fixed:
                break
            fixed |= fresh & reserved
            reserved |= fresh
            number += 1
        return best

    def _one_by_one(self, moves: Sequence[Move], planned: Mapping[str, int], rules: WaveRules) -> WavePlan:
        """The moves each to one certain node; moves without a turn keep their room the next time."""
        best = self._nothing(moves)
        reserved: set[int] = set()
        is_over: Callable[[], bool] = _never
        for number in range(effort.WAVE_PLANS):
            if is_over():
                break
            stage = EvictionTimeline(self.trial.problem, moves, self.trial)
            chosen = replace(rules, max_unavailable=1) if number else rules
            strict = number == effort.WAVE_PLANS - 1
            builder = SingleNodeWaves(stage, moves, chosen, reserved=reserved, strict=strict)
            found, is_over = self._plan_with(stage, builder, is_over), self.meter.over
            if found is None:
                continue
            best = min(best, found, key=lambda one: one.key)
            if not (found.left or found.misses(planned)):
                break
            reserved |= {move.pod for move in found.left}
        return best

    def _plan_with(
        self,
        stage: EvictionTimeline,
        builder: OpenWaves | SingleNodeWaves | OneByOne,
        is_over: Callable[[], bool],
    ) -> WavePlan | None:
        """What a dealer comes to; None if it contradicts itself."""
        hard, soft = (
            self.trial.ledger.excess(hard=kind) - stage.trial.ledger.excess(hard=kind)
            for kind in (True, False)
        )
        try:
            left = builder.plan_waves(is_over)
        except LandingContradiction:
            return None
        # The stage has only the constraints that its moves touch.
        hard, soft = (
            hard + stage.trial.ledger.excess(hard=True),
            soft + stage.trial.ledger.excess(hard=False),
        )
        pods = [landing.move.pod for wave in builder.waves for landing in wave]
        weight = int(self.rules.weights[pods].sum()) if pods else 0
        return WavePlan(builder.waves, left, (hard, soft if SOFT in self.rules.kinds else 0), weight, soft)

    def _nothing(self, moves: Sequence[Move]) -> WavePlan:
        """No move finds a turn."""
        hard, soft = (self.trial.ledger.excess(hard=kind) for kind in (True, False))
        return WavePlan((), moves, (hard, soft if SOFT in self.rules.kinds else 0), 0, soft)


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


def _of_broken(stage: EvictionTimeline, moves: Sequence[Move], rules: WaveRules) -> set[int]:
    """The moves of pods that count for what is still broken."""
    broken = {t for constraint in stage.trial.ledger.broken(rules.kinds) for t in constraint.members}
    return {move.pod for move in moves if stage.trial.template(move.pod) in broken}
