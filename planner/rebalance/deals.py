"""Moves dealt out to waves, again with more care as long as something is left over or stays broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from planner.eviction.protections import SOFT
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.certain_waves import CertainWaves
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


def deal(  # noqa: PLR0913, PLR0917 - what a deal is made of
    board: TrialCluster,
    moves: Sequence[Move],
    planned: Mapping[str, int],
    rules: WaveRules,
    meter: Meter,
    others: Callable[[], Iterable[Sequence[Move]]],
) -> Dealt:
    """The best deal of the moves, or of `others` that may serve as well where that one leaves a wish."""
    meter.look_for("a turn for every move")
    best = _with_care(board, moves, planned, rules, meter)
    size = len(moves) * board.problem.nodes.size
    if size <= (effort.DEALT_ONCE if best.pinned or best.left or best.misses(planned) else effort.WISHED_FOR):
        meter.look_for("landings that need no pin")
        for other in chain(others(), [None]):
            if best.is_as_planned(planned) or meter.over():
                break
            if other is None:
                found = _one_by_one(board, moves, planned, replace(rules, steering=UNSTEERED), meter)
            else:
                found = _with_care(board, other, planned, rules, meter)
            best = min(best, found, key=lambda one: one.key)
    meter.look_for("a turn for every move")
    if best.left or best.misses(planned):
        best = min(best, _one_by_one(board, moves, planned, rules, meter), key=lambda one: one.key)
    if (best.left or best.misses(planned)) and size <= effort.SINGLE_FILE:
        best = min(best, single_file(board, moves, rules, meter), key=lambda one: one.key)
    return best


def single_file(board: TrialCluster, moves: Sequence[Move], rules: WaveRules, meter: Meter) -> Dealt:
    """The moves one after the other."""
    stage = Stage(board.problem, moves, board)
    found = _dealt(board, stage, SingleFile(stage, moves, rules), rules, meter.over)
    return _nothing(board, moves, rules) if found is None else found


def _with_care(
    board: TrialCluster, moves: Sequence[Move], planned: Mapping[str, int], rules: WaveRules, meter: Meter
) -> Dealt:
    """The moves in waves, each to all nodes that are as good.

    Moves that found no turn keep their room the next time, when replicas also go one by one and where they
    were planned; at last the waves follow the moves' own order.  A large cluster is dealt once, in the order
    for scarce room if most moves have few nodes to come to.
    """
    best = _nothing(board, moves, rules)
    large = len(moves) * board.problem.nodes.size > effort.DEALT_ONCE
    reserved, fixed, tight = set[int](), set[int](), _tight(board, moves)
    first, number, turns = dict[int, int](), 0, 0
    # Something is dealt even if the search took all of the time.
    is_over = meter.over if large else _never
    while number <= (0 if large else effort.DEALS) and not is_over():
        strict = number == effort.DEALS
        care = Care(frozenset(tight | reserved), frozenset(reserved), frozenset(fixed), strict, first)
        stage = Stage(board.problem, moves, board)
        if large and len(tight) > effort.SCARCE_MOVES * len(moves):
            dealer: Waves = ScarceWaves(stage, moves, rules)
        else:
            dealer = Waves(stage, moves, replace(rules, max_unavailable=1) if number else rules, care)
        found, is_over = _dealt(board, stage, dealer, rules, is_over), meter.over
        if found is None:
            # It contradicts itself: the next one keeps more apart.
            reserved |= {move.pod for move in moves}
            number += 1
            continue
        best = min(best, found, key=lambda one: one.key)
        hard = found.pinned | {move.pod for move in found.left}
        if not (large or (number and found.left) or hard <= {*first}) and turns < effort.DEALS_FIRST:
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


def _one_by_one(
    board: TrialCluster, moves: Sequence[Move], planned: Mapping[str, int], rules: WaveRules, meter: Meter
) -> Dealt:
    """The moves each to one certain node; moves without a turn keep their room the next time."""
    best = _nothing(board, moves, rules)
    reserved: set[int] = set()
    for number in range(effort.DEALS):
        if meter.over():
            break
        stage = Stage(board.problem, moves, board)
        chosen = replace(rules, max_unavailable=1) if number else rules
        strict = number == effort.DEALS - 1
        dealer = CertainWaves(stage, moves, chosen, reserved=reserved, strict=strict)
        found = _dealt(board, stage, dealer, rules, meter.over)
        if found is None:
            continue
        best = min(best, found, key=lambda one: one.key)
        if not (found.left or found.misses(planned)):
            break
        reserved |= {move.pod for move in found.left}
    return best


def _dealt(
    board: TrialCluster,
    stage: Stage,
    dealer: Waves | CertainWaves | SingleFile,
    rules: WaveRules,
    is_over: Callable[[], bool],
) -> Dealt | None:
    """What a dealer comes to; None if it contradicts itself."""
    hard, soft = (
        board.ledger.excess(hard=kind) - stage.board.ledger.excess(hard=kind) for kind in (True, False)
    )
    try:
        left = dealer.deal(is_over)
    except Misjudged:
        return None
    # The stage has only the constraints that its moves touch.
    hard, soft = hard + stage.board.ledger.excess(hard=True), soft + stage.board.ledger.excess(hard=False)
    pods = [landing.move.pod for wave in dealer.waves for landing in wave]
    weight = int(rules.weights[pods].sum()) if pods else 0
    return Dealt(dealer.waves, left, (hard, soft if SOFT in rules.kinds else 0), weight, soft)


def _never() -> bool:
    return False


def _nothing(board: TrialCluster, moves: Sequence[Move], rules: WaveRules) -> Dealt:
    """No move finds a turn."""
    hard, soft = board.ledger.excess(hard=True), board.ledger.excess(hard=False)
    return Dealt((), moves, (hard, soft if SOFT in rules.kinds else 0), 0, soft)


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
