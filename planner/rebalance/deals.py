"""Moves dealt out to waves, again with more care as long as something is left over or stays broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.clock import Clock
from planner.eviction.protections import SOFT
from planner.proof import effort
from planner.rebalance.certain_waves import CertainWaves
from planner.rebalance.landings import Landing, Misjudged
from planner.rebalance.phases import Stage
from planner.rebalance.room import Room
from planner.rebalance.single_file import SingleFile
from planner.rebalance.trial_cluster import Move, TrialCluster
from planner.rebalance.waves import Care, WaveRules, Waves


@dataclass(frozen=True, slots=True)
class Dealt:
    """Waves, the moves without a safe turn, and what hard and, where they matter, soft constraints keep."""

    waves: Sequence[Sequence[Landing]]
    left: Sequence[Move]
    excess: tuple[int, int]

    @property
    def key(self) -> tuple[int, ...]:
        """The smaller, the better: what is too much, moves, pins, landings that rely on scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        return *self.excess, len(kinds), kinds.count("pinned"), kinds.count("scores")

    def misses(self, planned: Mapping[str, int]) -> bool:
        """Whether more is too much than the moves were to leave."""
        return self.excess > (planned["hardExcess"], planned["softExcess"])


def deal(
    board: TrialCluster, moves: Sequence[Move], planned: Mapping[str, int], rules: WaveRules, clock: Clock
) -> Dealt:
    """The moves in waves.

    Moves that found no turn keep their room the next time, when replicas also go one by one and where they
    were planned; at last the waves follow the moves' own order.
    """
    best: Dealt | None = None
    large = len(moves) * board.problem.nodes.size > effort.DEALT_ONCE
    reserved, fixed, tight = set[int](), set[int](), _tight(board, moves)
    for number in range(1 if large else effort.DEALS + 1):
        strict = number == effort.DEALS
        care = Care(frozenset(tight | reserved), frozenset(reserved), frozenset(fixed), strict)
        stage = Stage(board.problem, moves, board)
        dealer = Waves(stage, moves, replace(rules, max_unavailable=1) if number else rules, care)
        found = _dealt(stage, dealer, rules, clock)
        if found is None:
            # Judged by sets of nodes it does not hold: the next one keeps more apart.
            reserved |= {move.pod for move in moves}
            continue
        best = found if best is None else min(best, found, key=lambda one: one.key)
        fresh = {move.pod for move in found.left} | _of_broken(stage, moves, rules)
        if not (found.left or found.misses(planned)) or fresh <= fixed or clock.over():
            break
        fixed |= fresh & reserved
        reserved |= fresh
    if best is None or (best.left or best.misses(planned)):
        other = _one_by_one(board, moves, planned, rules, clock)
        best = min((one for one in (best, other) if one is not None), key=lambda one: one.key)
    if (best.left or best.misses(planned)) and len(moves) * board.problem.nodes.size <= effort.SINGLE_FILE:
        stage = Stage(board.problem, moves, board)
        found = _dealt(stage, SingleFile(stage, moves, rules), rules, clock)
        best = min((one for one in (found, best) if one is not None), key=lambda one: one.key)
    return best


def _one_by_one(
    board: TrialCluster, moves: Sequence[Move], planned: Mapping[str, int], rules: WaveRules, clock: Clock
) -> Dealt:
    """The moves each to one certain node; moves without a turn keep their room the next time."""
    best = Dealt((), moves, _excess(Stage(board.problem, moves, board), rules))
    reserved: set[int] = set()
    for number in range(effort.DEALS):
        if clock.over():
            break
        stage = Stage(board.problem, moves, board)
        chosen = replace(rules, max_unavailable=1) if number else rules
        strict = number == effort.DEALS - 1
        dealer = CertainWaves(stage, moves, chosen, reserved=reserved, strict=strict)
        found = _dealt(stage, dealer, rules, clock)
        if found is None:
            continue
        best = min(best, found, key=lambda one: one.key)
        if not (found.left or found.misses(planned)):
            break
        reserved |= {move.pod for move in found.left}
    return best


def _dealt(
    stage: Stage, dealer: Waves | CertainWaves | SingleFile, rules: WaveRules, clock: Clock
) -> Dealt | None:
    """What a dealer comes to; None if it contradicts itself."""
    try:
        left = dealer.deal(clock.over)
    except Misjudged:
        return None
    return Dealt(dealer.waves, left, _excess(stage, rules))


def _excess(stage: Stage, rules: WaveRules) -> tuple[int, int]:
    ledger = stage.board.ledger
    return ledger.excess(hard=True), ledger.excess(hard=False) if SOFT in rules.kinds else 0


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
