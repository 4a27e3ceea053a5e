"""Lower bounds on moves: by counting, and by relaxed models of groups of constraints that share no pods.

Groups of constraints that share no movable pods compete for room alone.  A relaxation leaves room out, so the
bounds of groups add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move
from planner.proof import effort
from planner.proof.bounds import Assumption, Bound, Claim
from planner.proof.meter import Meter
from planner.rebalance.search.large_repair import Group
from planner.rebalance.search.regions import Regions

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift
    from planner.cpsat.region import Region


_SOFT = "softExcess"


class LowerBounds:
    """Bounds for the moves that repair some groups of constraints."""

    def __init__(self, movable: Movable, regions: Regions, stages: Sequence[str], most: int | None) -> None:
        self._movable = movable
        self._regions = regions
        self._stages = stages
        self._most = most
        self._template_of = movable.template_of
        #: The bounds of every group by counting.
        self._counted: dict[int, Counter[str]] = {}

    def groups(self, broken: Iterable[TrackedConstraint]) -> list[Group]:
        """The broken constraints with all that share pods with them."""
        groups: list[Group] = []
        seen: set[int] = set()
        for constraint in broken:
            if constraint.number not in seen:
                groups.append(self._regions.related([constraint]))
                seen.update(other.number for other in groups[-1][1])
        return groups

    def counted(self, groups: Sequence[Group]) -> Iterator[Claim]:
        """Claims by counting alone: of each group the moves that its most demanding constraint needs."""
        total = Counter(dict.fromkeys(self._stages, 0))
        for number, (templates, constraints) in enumerate(groups):
            least = max(
                (_least_moves(constraint) for constraint in constraints if constraint.hard), default=0
            )
            weights = [int(self._movable.weights[self._movable.of(t)].min()) for t in templates]
            self._counted[number] = Counter(moves=least, disruption=least * min(weights, default=0))
            total.update(self._counted[number])
        return chained(self._stages, total, "counting")

    def loose(self, groups: Sequence[Group], moves: Sequence[Move]) -> list[int]:
        """The indices of groups with more moves than counting says, or still broken on the trial cluster."""
        found = []
        for number, (templates, constraints) in enumerate(groups):
            pods = [move.pod for move in moves if self._template_of[move.pod] in templates]
            has = Counter(moves=len(pods), disruption=int(self._movable.weights[pods].sum()) if pods else 0)
            open_still = any(
                constraint.excess() for constraint in constraints if constraint.hard or _SOFT in self._stages
            )
            if has != self._counted[number] or open_still:
                found.append(number)
        return found

    def relaxed(self, groups: Sequence[Group], loose: Sequence[int], meter: Meter) -> Iterator[Claim]:
        """Claims by a relaxed model of each group that counting leaves loose and that is small enough."""
        total = Counter(dict.fromkeys(self._stages, 0))
        for number, (templates, constraints) in enumerate(groups):
            if number not in loose:
                total.update(self._counted[number])
                continue
            region = self._regions.relaxed(templates, constraints)
            total.update(self._bound(region, meter) if region.size <= effort.REGION_VARIABLES else {})
        return chained(self._stages, total, "a relaxation without room")

    def _bound(self, region: Region, meter: Meter) -> Mapping[str, int]:
        from planner.cpsat.moves import MoveModel

        model = MoveModel(region, most_moves=self._most)
        return proved_by(model.solve(self._stages, meter, effort.RELAXED_REGION_WORK), self._stages)


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
