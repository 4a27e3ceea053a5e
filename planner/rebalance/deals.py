"""Moves dealt out to waves, again with more care as long as something is left over or stays broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from planner.eviction.protections import SOFT
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.certain_waves import CertainWaves
from planner.rebalance.known_waves import KnownWaves
from planner.rebalance.landing import STEERED, Landing, Misjudged
from planner.rebalance.phases import Stage
from planner.rebalance.room import Room
from planner.rebalance.scarce_waves import ScarceWaves
from planner.rebalance.single_file import SingleFile
from planner.rebalance.steerable import UNSTEERED
from planner.rebalance.trial_cluster import Move, TrialCluster
from planner.rebalance.waves import Care, WaveRules, Waves


@dataclass(frozen=True, slots=True)
class Dealt:
    """Waves, the moves without a safe turn, and what hard and, where they matter, soft constraints keep.

    `weight` is that of all pods that move; `wishes` is what soft constraints keep where the smallest name
    wins, whether they matter or not.
    """

    waves: Sequence[Sequence[Landing]]
    left: Sequence[Move]
    excess: tuple[int, int]
    weight: int = 0
    wishes: int = 0

    @property
    def key(self) -> tuple[int, ...]:
        """The smaller, the better: what is too much, moves, pins, weights, wishes, landings by scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        pins, by_scores = sum(kind in STEERED for kind in kinds), kinds.count("scores")
        return *self.excess, len(kinds), pins, self.weight, self.wishes, by_scores

    @property
    def pinned(self) -> set[int]:
        """The pods whose replacements are pinned, or kept off cordoned nodes."""
        return {landing.move.pod for wave in self.waves for landing in wave if landing.kind in STEERED}

    def is_as_planned(self, planned: Mapping[str, int]) -> bool:
        """Whether nothing is left to wish for but fewer landings that rely on scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        wishes = not STEERED.isdisjoint(kinds) or len(kinds) > planned["moves"] or self.wishes > 0
        return not (self.left or self.misses(planned) or wishes)

    def misses(self, planned: Mapping[str, int]) -> bool:
        """Whether more is too much than the moves were to leave."""
        return self.excess > (planned["hardExcess"], planned["softExcess"])


@dataclass(frozen=True, slots=True)
class Deals:
    """Deals of moves on a board."""

    board: TrialCluster
    rules: WaveRules
    meter: Meter

    def of(
        self,
        moves: Sequence[Move],
        planned: Mapping[str, int],
        others: Callable[[], Iterable[Sequence[Move]]],
        best: Dealt | None = None,
    ) -> Dealt:
        """The best deal of the moves, or of `others` that may serve as well where that one leaves a wish.

        `best` is that with care, if it was made before.
        """
        best = best or self.with_care(moves, planned)
        if not self.is_large(moves):
            self.meter.look_for("landings that need no pin")
            for other in chain(others(), [None]):
                if best.is_as_planned(planned) or self.meter.over():
                    break
                if other is None:
                    found = self._one_by_one(moves, planned, replace(self.rules, steering=UNSTEERED))
                else:
                    found = self.with_care(other, planned)
                best = min(best, found, key=lambda one: one.key)
        self.meter.look_for("a turn for every move")
        if best.left or best.misses(planned):
            best = min(best, self._one_by_one(moves, planned, self.rules), key=lambda one: one.key)
        if (best.left or best.misses(planned)) and self._size(moves) <= effort.SINGLE_FILE:
            best = min(best, self.single_file(moves), key=lambda one: one.key)
        return best

    def _size(self, moves: Sequence[Move]) -> int:
        return len(moves) * self.board.problem.nodes.size

    def is_large(self, moves: Sequence[Move]) -> bool:
        """Whether a deal takes so long that it is made once."""
        return self._size(moves) > effort.DEALT_ONCE

    def single_file(self, moves: Sequence[Move]) -> Dealt:
        """The moves one after the other."""
        stage = Stage(self.board.problem, moves, self.board)
        found = self._dealt(stage, SingleFile(stage, moves, self.rules), self.meter.over)
        return self._nothing(moves) if found is None else found

    def with_care(self, moves: Sequence[Move], planned: Mapping[str, int]) -> Dealt:
        """The moves in waves, each to all nodes that are as good; those of a large cluster are dealt once.

        Where that leaves some over, once more with nobody of whom it is not known where he is.
        """
        self.meter.look_for("a turn for every move")
        best = self._once(moves) if self.is_large(moves) else self._again_and_again(moves, planned)
        if best.left and self.rules.steering and not self.meter.over():
            stage = Stage(self.board.problem, moves, self.board)
            known = self._dealt(stage, KnownWaves(stage, moves, self.rules), self.meter.over)
            best = best if known is None else min(best, known, key=lambda one: one.key)
        return best

    def _once(self, moves: Sequence[Move]) -> Dealt:
        """A first deal, in the order for scarce room if most moves have few nodes to come to."""
        stage, tight = Stage(self.board.problem, moves, self.board), _tight(self.board, moves)
        if len(tight) > effort.SCARCE_MOVES * len(moves):
            dealer: Waves = ScarceWaves(stage, moves, self.rules)
        else:
            dealer = Waves(stage, moves, self.rules, Care(frozenset(tight)))
        # Something is dealt even if the search took all of the time.
        found, nothing = self._dealt(stage, dealer, _never), self._nothing(moves)
        return nothing if found is None else min(nothing, found, key=lambda one: one.key)

    def _again_and_again(self, moves: Sequence[Move], planned: Mapping[str, int]) -> Dealt:
        """The best of several deals, each with more care for what found no turn in those before.

        Moves that found no turn keep their room the next time, when replicas also go one by one and where
        they were planned; at last the waves follow the moves' own order.
        """
        best, rules = self._nothing(moves), self.rules
        reserved, fixed, tight = set[int](), set[int](), _tight(self.board, moves)
        first, number, turns = dict[int, int](), 0, 0
        # Something is dealt even if the search took all of the time.
        is_over: Callable[[], bool] = _never
        while number <= effort.DEALS and not is_over():
            strict = number == effort.DEALS
            care = Care(frozenset(tight | reserved), frozenset(reserved), frozenset(fixed), strict, first)
            stage = Stage(self.board.problem, moves, self.board)
            dealer = Waves(stage, moves, replace(rules, max_unavailable=1) if number else rules, care)
            found, is_over = self._dealt(stage, dealer, is_over), self.meter.over
            if found is None:
                # It contradicts itself: the next one keeps more apart.
                reserved |= {move.pod for move in moves}
                number += 1
                continue
            best = min(best, found, key=lambda one: one.key)
            hard = found.pinned | {move.pod for move in found.left}
            if len(found.left) - len(best.left) > effort.ASTRAY * len(moves):
                # Not with these first.
                turns, first = effort.DEALS_FIRST, {}
            if not ((number and found.left) or hard <= {*first}) and turns < effort.DEALS_FIRST:
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

    def _one_by_one(self, moves: Sequence[Move], planned: Mapping[str, int], rules: WaveRules) -> Dealt:
        """The moves each to one certain node; moves without a turn keep their room the next time."""
        best = self._nothing(moves)
        reserved: set[int] = set()
        is_over: Callable[[], bool] = _never
        for number in range(effort.DEALS):
            if is_over():
                break
            stage = Stage(self.board.problem, moves, self.board)
            chosen = replace(rules, max_unavailable=1) if number else rules
            strict = number == effort.DEALS - 1
            dealer = CertainWaves(stage, moves, chosen, reserved=reserved, strict=strict)
            found, is_over = self._dealt(stage, dealer, is_over), self.meter.over
            if found is None:
                continue
            best = min(best, found, key=lambda one: one.key)
            if not (found.left or found.misses(planned)):
                break
            reserved |= {move.pod for move in found.left}
        return best

    def _dealt(
        self, stage: Stage, dealer: Waves | CertainWaves | SingleFile, is_over: Callable[[], bool]
    ) -> Dealt | None:
        """What a dealer comes to; None if it contradicts itself."""
        hard, soft = (
            self.board.ledger.excess(hard=kind) - stage.board.ledger.excess(hard=kind)
            for kind in (True, False)
        )
        try:
            left = dealer.deal(is_over)
        except Misjudged:
            return None
        # The stage has only the constraints that its moves touch.
        hard, soft = (
            hard + stage.board.ledger.excess(hard=True),
            soft + stage.board.ledger.excess(hard=False),
        )
        pods = [landing.move.pod for wave in dealer.waves for landing in wave]
        weight = int(self.rules.weights[pods].sum()) if pods else 0
        return Dealt(dealer.waves, left, (hard, soft if SOFT in self.rules.kinds else 0), weight, soft)

    def _nothing(self, moves: Sequence[Move]) -> Dealt:
        """No move finds a turn."""
        hard, soft = (self.board.ledger.excess(hard=kind) for kind in (True, False))
        return Dealt((), moves, (hard, soft if SOFT in self.rules.kinds else 0), 0, soft)


def _never() -> bool:
    return False


def _tight(board: TrialCluster, moves: Sequence[Move]) -> set[int]:
    """The pods for which few nodes have room."""
    room, found = Room(board), set[int]()
    free, known = room.free(), dict[int, bool]()
    for move in moves:
        template = board.template(move.pod)
        if template not in known:
            settled = board.plan(template).settled
            fits = room.fits(template, free) & settled
            known[template] = int(fits.sum()) <= effort.SCARCE_ROOM * int(settled.sum())
        if known[template]:
            found.add(move.pod)
    return found


def _of_broken(stage: Stage, moves: Sequence[Move], rules: WaveRules) -> set[int]:
    """The moves of pods that count for what is still broken."""
    broken = {t for demand in stage.board.ledger.broken(rules.kinds) for t in demand.members}
    return {move.pod for move in moves if stage.board.template(move.pod) in broken}
