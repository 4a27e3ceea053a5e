"""Moves that have no turn: how many, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.deals import Dealt
from planner.rebalance.phases import Phase, Stage
from planner.rebalance.single_file import SingleFile
from planner.rebalance.trial_cluster import Move, TrialCluster
from planner.rebalance.waves import WaveRules


def why(
    board: TrialCluster, dealt: Dealt, rules: WaveRules, dealing: Meter, *, evict_only: bool
) -> Iterator[str]:
    """How many moves had no turn, and why; apart those of pods that cannot be pinned and would have to be."""
    total = len(dealt.left) + sum(map(len, dealt.waves))
    if not dealt.left:
        return
    if dealing.cut is not None:
        yield f"{_are(len(dealt.left), total)} left out: the time was up before they had a turn"
        return
    if evict_only:
        yield f"{_are(len(dealt.left), total)} left out: their pods would not land there by themselves"
        return
    held = _turns_with_pins(board, dealt, rules)
    for workload, number in sorted(Counter(board.workloads[board.template(m.pod)] for m in held).items()):
        yield (
            f"{_are(number, total)} left out: replacements of {workload} would have to be pinned, "
            "which takes a ReplicaSet or ReplicationController if nothing is to be rolled out"
        )
    rest = len(dealt.left) - len(held)
    if rest:
        yield f"{_are(rest, total)} left out: no safe order was found for them"


def _are(number: int, total: int) -> str:
    return f"{number} of {total} moves are"


def _turns_with_pins(board: TrialCluster, dealt: Dealt, rules: WaveRules) -> Sequence[Move]:
    """Of the moves without a turn those that may not be pinned, and that find one after the others if so."""
    left = [move for move in dealt.left if board.template(move.pod) not in rules.pinnable]
    if not left or len(dealt.left) * board.problem.nodes.size > effort.SINGLE_FILE:
        return ()
    done = [landing.move for wave in dealt.waves for landing in wave]
    stage = Stage(board.problem, [*done, *dealt.left], board)
    stage.put_all(done, Phase.LANDED)
    every = frozenset(range(len(board.problem.templates)))
    still_without = SingleFile(stage, dealt.left, replace(rules, pinnable=every)).deal(_never)
    return [move for move in left if move not in still_without]


def _never() -> bool:
    return False
