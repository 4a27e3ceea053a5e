"""Lower bounds on moves: by counting, and by relaxed models of groups of constraints that share no pods.

Groups of constraints that share no movable pods compete for room alone.  A relaxation leaves room out, so the
bounds of groups add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import Move
from planner.proof import effort
from planner.proof.bounds import Assumption, Bound, Claim
from planner.rebalance.search.evaluation import ConstraintGroup, Evaluator, Found
from planner.rebalance.search.regions import Regions

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift


_SOFT = "softExcess"


class LowerBounds:
    """Bounds for the moves that repair some groups of constraints."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._stages = evaluator.stages
        self._movable = evaluator.movable

    def improve(self, best: Found) -> Found:
        """No other moves, but the tighter bounds of a relaxed model, group by group.

        Groups in which counting says as much as the moves have, and those that are too large, are counted.
        """
        it = self._evaluator
        counted = [self._counted(group) for group in it.groups]
        it.set(best[0])
        loose = [
            self._achieved(group, best[0]) != least for group, least in zip(it.groups, counted, strict=True)
        ]
        it.set()
        total = Counter(dict.fromkeys(self._stages, 0))
        for group, is_loose, least in zip(it.groups, loose, counted, strict=True):
            total.update(self._relaxed(group) if is_loose else least)
        it.learn(chained(self._stages, total, "a relaxation without room"))
        return best

    def counted(self) -> Iterator[Claim]:
        """Claims by counting alone: of each group the moves that its most demanding constraint needs."""
        total = Counter(dict.fromkeys(self._stages, 0))
        for group in self._evaluator.groups:
            total.update(self._counted(group))
        return chained(self._stages, total, "counting")

    def _counted(self, group: ConstraintGroup) -> Counter[str]:
        least = max(
            (_least_moves(constraint) for constraint in group.constraints if constraint.hard), default=0
        )
        weights = [int(self._movable.weights[self._movable.of(t)].min()) for t in group.templates]
        return Counter(moves=least, disruption=least * min(weights, default=0))

    def _achieved(self, group: ConstraintGroup, moves: Sequence[Move]) -> Counter[str]:
        """What moves have of a group on the trial cluster after them."""
        pods = [move.pod for move in moves if self._movable.template_of[move.pod] in group.templates]
        excess = sum(d.excess() for d in group.constraints if d.hard or _SOFT in self._stages)
        weight = int(self._movable.weights[pods].sum()) if pods else 0
        return Counter(moves=len(pods), disruption=weight, **({_SOFT: excess} if excess else {}))

    def _relaxed(self, group: ConstraintGroup) -> Mapping[str, int]:
        """The bounds of a model of one group."""
        from planner.cpsat.moves import MoveModel

        it, region = self._evaluator, Regions(self._evaluator).relaxed(group.templates, group.constraints)
        if region.size > effort.REGION_VARIABLES:
            return {}
        shift = MoveModel(region, most_moves=it.most).solve(
            self._stages, it.meter, effort.RELAXED_REGION_WORK
        )
        return proved_by(shift, self._stages)


def proved_by(shift: Shift | None, stages: Sequence[str]) -> Mapping[str, int]:
    """The bounds of a model's stages, up to the first one that it did not reach."""
    bounds: dict[str, int] = {}
    if shift is None:
        return bounds
    for name in stages:
        bounds[name] = shift.bounds.get(name, 0)
        if shift.values.get(name) != bounds[name]:
            break
    return bounds


def chained(
    stages: Sequence[str], bounds: Mapping[str, int], source: str, *assumes: Assumption
) -> Iterator[Claim]:
    """A claim for every stage with a bound, about plans that reach the bounds before."""
    given: dict[str, int] = {}
    for name in stages:
        if name not in bounds:
            return
        yield Claim(name, Bound(bounds[name], source, frozenset(assumes)), dict(given))
        given[name] = bounds[name]


def certain(soft_excess: int) -> Iterator[Claim]:
    """Claims that hold for all plans: no count is below zero, and without moves everything stays as it is."""
    for name in ("hardExcess", "moves", "disruption", "softExcess", "pinned"):
        yield Claim(name, Bound(0, "no count is negative"))
    yield Claim("softExcess", Bound(soft_excess, "nothing moves"), {"moves": 0})


def _least_moves(constraint: TrackedConstraint) -> int:
    """The least number of moves after which a constraint has no excess."""
    return (constraint.moves_needed(closed=False) or 0) if constraint.excess() else 0
