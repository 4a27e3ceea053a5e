"""Waves for moves, planned again with what failed put first, as long as that may help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.eviction.protections import SOFT
from planner.landing.landing import LandingContradiction
from planner.landing.room import WaveRoom
from planner.landing.single_landings import SingleLandings
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.proof.meter import Meter
from planner.waves.candidates import Candidates, RetryHints
from planner.waves.known_nodes import KnownNodes
from planner.waves.limits import WaveRules
from planner.waves.orders import CertainFirst, OneMoveAWave, WaveOrder, fill_waves
from planner.waves.scarce_room import ScarceRoom
from planner.waves.wave_plan import WavePlan


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
            for other in others():
                if best.is_as_planned(planned) or self.meter.over():
                    break
                best = min(best, self.with_retries(other, planned), key=lambda one: one.key)
        self.meter.look_for("a safe wave for every move")
        if (best.left or best.misses(planned)) and self._size(moves) <= effort.ONE_MOVE_A_WAVE_MOST:
            best = min(best, self.one_move_a_wave(moves), key=lambda one: one.key)
        return best

    def _size(self, moves: Sequence[Move]) -> int:
        return len(moves) * self.trial.problem.nodes.size

    def is_large(self, moves: Sequence[Move]) -> bool:
        """Whether planning takes so long that it is done once."""
        return self._size(moves) > effort.PLANNED_ONCE

    def one_move_a_wave(self, moves: Sequence[Move]) -> WavePlan:
        """The moves one after the other, one per wave, even if the time is over: often only that moves all.

        Where it was cut off, two clusters with --soft kept 22 pods too many; they keep 9.
        """
        timeline = self._timeline(moves)
        landings = SingleLandings(timeline, self.rules.pin_policy, lets_preempt=self.rules.lets_preempt)
        return self._filled(timeline, OneMoveAWave(landings), moves, _never) or self._nothing(moves)

    def with_retries(self, moves: Sequence[Move], planned: Mapping[str, int]) -> WavePlan:
        """The moves in waves, each open to all nodes that are as good; of a large cluster planned once.

        Where that leaves moves over, once more with one known node for every replacement.
        """
        self.meter.look_for("a safe wave for every move")
        best = self._once(moves) if self.is_large(moves) else self._again_and_again(moves, planned)
        if best.left and self.rules.pin_policy and not self.meter.over():
            timeline = self._timeline(moves)
            order = KnownNodes(
                Candidates(timeline, moves, self.rules, kept=effort.SCARCE_HISTOGRAMS_KEPT), moves
            )
            known = self._filled(timeline, order, moves, self.meter.over)
            best = best if known is None else min(best, known, key=lambda one: one.key)
        return best

    def _once(self, moves: Sequence[Move]) -> WavePlan:
        """A single plan, in the order for scarce room if most moves have few nodes to come to."""
        timeline, tight = self._timeline(moves), _tight(self.trial, moves)
        order: WaveOrder
        if len(tight) > effort.SCARCE_MOVES * len(moves):
            kept = effort.SCARCE_HISTOGRAMS_KEPT
            order = ScarceRoom(Candidates(timeline, moves, self.rules, kept=kept), moves)
        else:
            order = CertainFirst(Candidates(timeline, moves, self.rules, RetryHints(frozenset(tight))))
        # Waves are planned even if the search took all of the time.
        found, nothing = self._filled(timeline, order, moves, _never), self._nothing(moves)
        return nothing if found is None else min(nothing, found, key=lambda one: one.key)

    def _again_and_again(self, moves: Sequence[Move], planned: Mapping[str, int]) -> WavePlan:
        """The best of several plans, each with hints about what could not be scheduled in those before."""
        best, retries = self._nothing(moves), _Retries(moves, _tight(self.trial, moves))
        # Waves are planned even if the search took all of the time.
        is_over: Callable[[], bool] = _never
        while not retries.are_over and not is_over():
            timeline = self._timeline(moves)
            rules = replace(self.rules, max_unavailable=1) if retries.number else self.rules
            order = CertainFirst(Candidates(timeline, moves, rules, retries.hints()))
            found, is_over = self._filled(timeline, order, moves, is_over), self.meter.over
            if found is None:
                # The landings contradict each other: the next attempt reserves room for every move.
                retries.reserve({move.pod for move in moves})
                continue
            best = min(best, found, key=lambda one: one.key)
            if retries.put_first(found, len(best.left)):
                continue
            fresh = {move.pod for move in found.left} | _of_broken(timeline, moves, rules)
            if not (found.left or found.misses(planned)) or fresh <= retries.fixed:
                break
            retries.reserve(fresh)
        return best

    def _timeline(self, moves: Sequence[Move]) -> EvictionTimeline:
        return EvictionTimeline(self.trial.problem, moves, self.trial)

    def _filled(
        self,
        timeline: EvictionTimeline,
        order: WaveOrder,
        moves: Sequence[Move],
        is_over: Callable[[], bool],
    ) -> WavePlan | None:
        """The plan in an order; None if its landings contradict each other."""
        before = [self.trial.ledger.excess(hard=kind) for kind in (True, False)]
        # The timeline has only the constraints that its moves touch.
        others = [
            excess - timeline.trial.ledger.excess(hard=kind)
            for excess, kind in zip(before, (True, False), strict=True)
        ]
        try:
            waves, left = fill_waves(order, moves, is_over)
        except LandingContradiction:
            return None
        hard = others[0] + timeline.trial.ledger.excess(hard=True)
        soft = others[1] + timeline.trial.ledger.excess(hard=False)
        pods = [landing.move.pod for wave in waves for landing in wave]
        weight = int(self.rules.weights[pods].sum()) if pods else 0
        return WavePlan(waves, left, self._excess(hard, soft), weight, soft, self._unmet(left))

    def _nothing(self, moves: Sequence[Move]) -> WavePlan:
        """The empty plan: all moves are left over."""
        hard, soft = (self.trial.ledger.excess(hard=kind) for kind in (True, False))
        return WavePlan((), moves, self._excess(hard, soft), 0, soft, self._unmet(moves))

    def _excess(self, hard: int, soft: int) -> tuple[int, int]:
        return hard, soft if SOFT in self.rules.kinds else 0

    def _unmet(self, left: Sequence[Move]) -> int:
        return len(left) if self.rules.needs_all else 0


@dataclass(slots=True)
class _Retries:
    """What earlier attempts have shown, as hints for the next one.

    Moves that were left over, or needed a pin, are put first: they have more options while every landing is
    certain.  Where that does not help, room is reserved for moves that were left over; then replicas also go
    one by one to their planned domains.  In the last attempt the waves follow the moves' own order.
    """

    moves: Sequence[Move]
    tight: set[int]
    number: int = 0
    fixed: set[int] = field(default_factory=set)
    _reserved: set[int] = field(default_factory=set)
    _first: dict[int, int] = field(default_factory=dict)
    _ranks: int = 0

    @property
    def are_over(self) -> bool:
        """Whether every attempt was made."""
        return self.number > effort.WAVE_PLANS

    def hints(self) -> RetryHints:
        """The hints for the next attempt."""
        last = self.number == effort.WAVE_PLANS
        reserved = {move.pod for move in self.moves} if last else self.tight | self._reserved
        return RetryHints(frozenset(reserved), frozenset(self._reserved), frozenset(self.fixed), self._first)

    def put_first(self, found: WavePlan, least_left: int) -> bool:
        """Put what failed in a plan first; False if that was done often enough, or did not help."""
        failed = found.pinned | {move.pod for move in found.left}
        if len(found.left) - least_left > effort.MORE_UNSCHEDULED * len(self.moves):
            # Moving these first leaves too many others without a wave.
            self._ranks, self._first = effort.FAILED_FIRST, {}
        if self._ranks == effort.FAILED_FIRST or (self.number and found.left) or failed <= {*self._first}:
            return False
        self._ranks += 1
        self._first = self._first | dict.fromkeys(failed, self._ranks)
        return True

    def reserve(self, pods: set[int]) -> None:
        """Reserve room for some pods; those that have it already come to one known node."""
        self.fixed |= pods & self._reserved
        self._reserved |= pods
        self.number += 1


def _never() -> bool:
    return False


def _tight(trial: TrialCluster, moves: Sequence[Move]) -> set[int]:
    """The pods for which few nodes have room."""
    room, found = WaveRoom(trial), set[int]()
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
