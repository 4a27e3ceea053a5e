"""The best use of a few moves: of those that repair everything, the first ones of each group of constraints.

Groups share no movable pods, so what the first moves of each reach adds up.  Of 29 moves that repair 100
nodes the best 25 leave 4 pods too many, where moves made in turns left 11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.moves.trial_cluster import Move
from planner.problem.nodes import Ints
from planner.rebalance.search.evaluation import Evaluator, Found
from planner.rebalance.search.greedy import repaired_one_by_one

#: A hard pod too many counts as so many soft ones.
_SOFT_PER_HARD = 1 << 32


def repaired_by_few(evaluator: Evaluator, best: Found) -> Found:
    """The neighbourhood of moves that the scheduler makes by itself, put to the best use where few may be."""
    found = repaired_one_by_one(evaluator, best)
    if evaluator.most is None:
        return found
    evaluator.set()
    unlimited = Evaluator(evaluator.trial, evaluator.movable, evaluator.protections, evaluator.meter)
    moves, _ = repaired_one_by_one(unlimited, best)
    return evaluator.best((found, FewMoves.of(evaluator, moves).at_most(evaluator.most)))


@dataclass(frozen=True, slots=True)
class FewMoves:
    """Moves in their order, by group, and for every number of moves how many of a group are the best use."""

    evaluator: Evaluator
    by_group: Sequence[Sequence[Move]]
    chosen: Sequence[Ints]

    @classmethod
    def of(cls, evaluator: Evaluator, moves: Sequence[Move]) -> FewMoves:
        """From moves that hold in their order."""
        group_of = {
            template: number for number, group in enumerate(evaluator.groups) for template in group.templates
        }
        by_group: list[list[Move]] = [[] for _ in evaluator.groups]
        for move in moves:
            if (number := group_of.get(evaluator.trial.template(move.pod))) is not None:
                by_group[number].append(move)
        gain, chosen = np.zeros(len(moves) + 1, np.int64), list[Ints]()
        for group in by_group:
            reached = np.array([*_gains(evaluator, group)], np.int64)
            ways = np.full((len(reached), len(gain)), -1, np.int64)
            for number, more in enumerate(reached.tolist()):
                ways[number, number:] = gain[: len(gain) - number] + more
            gain, best = ways.max(axis=0), ways.argmax(axis=0)
            chosen.append(best)
        evaluator.set()
        return cls(evaluator, by_group, chosen)

    def at_most(self, most: int) -> Found:
        """So many moves, those that reach the most, each where it is allowed; the trial is left as it was."""
        left, made = min(most, len(self.chosen[0]) - 1) if self.chosen else 0, list[Move]()
        for group, chosen in zip(reversed(self.by_group), reversed(self.chosen), strict=True):
            made = [*group[: chosen[left]], *made]
            left -= int(chosen[left])
        self.evaluator.set()
        limits, trial = self.evaluator.limits(), self.evaluator.trial
        done = list[Move]()
        for move in made:
            # A pod that moves on from where it did not come to stays.
            comes = trial.state.node_of[move.pod] == move.source
            if comes and limits.allow((move,)) and trial.attempt(move):
                limits.remember((move,))
                done.append(move)
        found = self.evaluator.of(done)
        self.evaluator.set()
        return found


def _gains(evaluator: Evaluator, moves: Sequence[Move]) -> Iterator[int]:
    """By how much fewer pods are too many after none, one, ... of some moves."""
    evaluator.set()
    ledger = evaluator.trial.ledger

    def excess() -> int:
        return ledger.excess(hard=True) * _SOFT_PER_HARD + ledger.excess(hard=False)

    before = excess()
    yield 0
    for move in moves:
        evaluator.trial.make(move)
        yield before - excess()
