"""Breadth-first search over all placements that single moves reach: the best in a tiny cluster, with proof.

A plan whose moves overlap, and which holds whichever of them ends first, can also be made one move after the
other: so nothing is missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.proof.bounds import Assumption
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Evaluator, Found, Values
from planner.rebalance.search.placements import Placement, Placements, PlacementStep
from planner.rebalance.search.regions import chained

__all__ = ["Exhaustive", "ExhaustiveResult", "TriedOut", "Values", "is_tiny"]


@dataclass(frozen=True, slots=True)
class _Path:
    """How a placement was reached: the shortest path with the least weight."""

    weight: int
    before: Placement
    step: PlacementStep


@dataclass(frozen=True, slots=True)
class ExhaustiveResult:
    """Better moves, if any were found; `complete` if no moves are better than these, or than those known."""

    moves: Sequence[Move] | None
    values: Values
    complete: bool


def is_tiny(trial: TrialCluster, movable: Movable) -> bool:
    """Whether a cluster is small enough for an exhaustive search."""
    pods, nodes = int(np.count_nonzero(movable.weights)), trial.problem.nodes.size
    return pods <= effort.EXHAUSTED_PODS and nodes <= effort.EXHAUSTED_NODES


class TriedOut:
    """The neighbourhood of all moves, and a proof where all have been tried."""

    def __init__(self, evaluator: Evaluator, work: float | None = None) -> None:
        """With so much work at most, if that is given."""
        self._evaluator = evaluator
        self._meter = evaluator.meter if work is None else evaluator.meter.step(work)
        self._placements = Placements(evaluator.trial, evaluator.movable, evaluator.protections)

    def improve(self, best: Found) -> Found:
        """The best moves that were found."""
        outcome = self._search(best[1], loose=False)
        if outcome.complete:
            self._prove(outcome.values)
        return best if outcome.moves is None else (outcome.moves, outcome.values)

    def _search(self, best: Values, *, loose: bool) -> ExhaustiveResult:
        it = self._evaluator
        search = Exhaustive(self._placements, it.stages, best, it.floor, loose=loose)
        return search.run(it.most, self._meter)

    def _prove(self, best: Values) -> None:
        """Claim bounds that include moves which make a constraint worse only while a pod is away."""
        outcome = self._search(best, loose=True)
        if outcome.complete:
            stages = self._evaluator.stages
            claims = chained(stages, outcome.values, "trying out all moves", Assumption.NOTHING_WORSE)
            self._evaluator.learn(claims)


class Exhaustive:
    """Goes through placements layer by layer: those of one move, of two, and so on."""

    def __init__(
        self,
        placements: Placements,
        stages: Sequence[str],
        best: Values,
        floor: Values,
        *,
        loose: bool = False,
    ) -> None:
        """`best` are the values of known moves; no moves are below `floor` in any stage before the moves.

        With `loose` a move may make a constraint worse for as long as its pod is away.
        """
        self._placements = placements
        self._loose = loose
        self._stages = stages
        self._best = best
        self._floor = tuple(floor[name] for name in stages[: stages.index("moves")])
        self._one_weight = len({kind.weight for kind in placements.kinds}) <= 1
        self._ways: dict[Placement, _Path] = {}
        self._end: Placement | None = None

    def run(self, most: int | None, meter: Meter) -> ExhaustiveResult:
        """The best result of at most `most` moves."""
        layer: dict[Placement, int] = {self._placements.start: 0}
        self._offer(self._placements.start, 0, 0)
        depth = 0
        while layer and not self._ends_at(depth, most):
            depth += 1
            found = self._next(layer, depth, meter)
            if found is None:
                return self._outcome(complete=False)
            layer = found
            for placement, weight in layer.items():
                self._offer(placement, depth, weight)
        return self._outcome(complete=True)

    def _ends_at(self, depth: int, most: int | None) -> bool:
        return depth == most or (self._at_floor() and depth >= self._best["moves"])

    def _at_floor(self) -> bool:
        return self._excess(self._best) == self._floor

    def _excess(self, values: Values) -> tuple[int, ...]:
        return tuple(values[name] for name in self._stages[: self._stages.index("moves")])

    def _next(self, layer: Mapping[Placement, int], depth: int, meter: Meter) -> dict[Placement, int] | None:
        """The placements one more move leads to, and their weights; None at the work limit."""
        found: dict[Placement, int] = {}
        start = self._placements.start
        for placement, so_far in layer.items():
            price = effort.PRICE_OF_PLACEMENT + effort.PRICE_OF_COUNT * len(placement)
            meter.spend(price)
            for place in self._placements.occupied(placement):
                if meter.over():
                    return None
                looked_at = self._placements.looked_at
                for step, after in self._placements.steps(placement, place, loose=self._loose):
                    weight = so_far + self._placements.kinds[step.kind].weight
                    known = after in self._ways or after == start
                    if after in found:
                        if weight >= found[after]:
                            continue
                    elif known or self._is_hopeless(after, depth):
                        continue
                    found[after] = weight
                    self._ways[after] = _Path(weight, placement, step)
                meter.spend(price * (self._placements.looked_at - looked_at))
        return found

    def _is_hopeless(self, placement: Placement, depth: int) -> bool:
        """Whether no placement reached from here can be better than the best known."""
        if not self._at_floor() or any(self._floor):
            return False
        needed = depth + self._placements.judged(placement).least
        return needed > self._best["moves"] or (self._one_weight and needed == self._best["moves"])

    def _offer(self, placement: Placement, depth: int, weight: int) -> None:
        judged = self._placements.judged(placement)
        values = {
            "hardExcess": sum(judged.hard),
            "softExcess": judged.soft,
            "moves": depth,
            "disruption": weight,
        }
        if self._key(values) < self._key(self._best):
            self._best, self._end = values, placement

    def _key(self, values: Values) -> tuple[int, ...]:
        return tuple(values[name] for name in self._stages)

    def _outcome(self, *, complete: bool) -> ExhaustiveResult:
        moves = None if self._end is None else self._moves(self._end)
        return ExhaustiveResult(moves, self._best, complete)

    def _moves(self, end: Placement) -> list[Move]:
        """The path to a placement, with a pod of the step's kind for every step."""
        steps: list[PlacementStep] = []
        while end != self._placements.start:
            steps.append(self._ways[end].step)
            end = self._ways[end].before
        return self._placements.named(reversed(steps))
