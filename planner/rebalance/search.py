"""The search for the moves: bounds, then as the scheduler would, then the solver where that is not enough.

Constraints that share no pods are bounded one by one; they compete for room alone.  A small cluster is
solved as a whole.  In a large one what is still broken is repaired with its surroundings: the nodes
that come closest to having room, and whatever may move away from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.clock import Clock
from planner.cpsat.region import Region
from planner.eviction.protections import SOFT, Protections
from planner.rebalance.bounds import moves_needed
from planner.rebalance.excess_ledger import Demand
from planner.rebalance.greedy import Greedy
from planner.rebalance.large_repair import Group, LargeRepair
from planner.rebalance.movable import Movable
from planner.rebalance.region import Regions
from planner.rebalance.sequence import Sequencer
from planner.rebalance.trial_cluster import Move, TrialCluster

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift

#: Up to so many variables a region is solved as a whole.
_MOST_VARIABLES = 20_000
#: The most work on a stage, in the solver's own seconds.
_EFFORT, _EFFORT_NEARBY = 20.0, 5.0
_PLENTY = 1 << 30

Values = dict[str, int]


@dataclass(frozen=True, slots=True)
class FoundMoves:
    """Moves in an order that holds, what they achieve stage by stage, and what any moves could."""

    moves: Sequence[Move]
    values: Values
    bounds: Values


class MoveSearch:
    """Looks for the fewest moves on a board, which it leaves as it found it."""

    def __init__(
        self,
        board: TrialCluster,
        movable: Movable,
        protections: Protections,
        clock: Clock,
        most: int | None = None,
    ) -> None:
        self._board = board
        self._movable = movable
        self._protections = protections
        self._kinds = kinds = protections.kinds
        self._clock = clock
        self._most = most
        self._regions = Regions(board, movable, protections)
        self._stages = ("hardExcess", *(("softExcess",) if SOFT in kinds else ()), "moves", "disruption")
        self._start = board.state.mark()

    def run(self, *, natural: bool = False) -> FoundMoves:
        """The best moves found; with `natural` only those that the scheduler makes of its own accord."""
        broken = self._board.ledger.broken(self._kinds)
        groups = self._groups(broken)
        bounds = self._counted(groups)
        best = self._greedily(broken, natural=natural)
        if self._key(best[1]) > self._key(bounds):
            self._board.state.rollback(self._start)
            bounds = max(bounds, self._bounds(groups), key=self._key)
            self._set(best[0])
        if not natural and self._key(best[1]) > self._key(bounds):
            best, bounds = self._solved(best, bounds, groups)
        moves, values = best
        self._board.state.rollback(self._start)
        return FoundMoves(moves, values, bounds)

    def _key(self, values: Values) -> tuple[int, ...]:
        return tuple(values[name] for name in self._stages)

    def _values(self, moves: Iterable[Move]) -> Values:
        """What moves achieve that have just happened."""
        pods = [move.pod for move in moves]
        return {
            "hardExcess": self._board.ledger.excess(hard=True),
            "softExcess": self._board.ledger.excess(hard=False),
            "moves": len(pods),
            "disruption": int(self._movable.weights[pods].sum()) if pods else 0,
        }

    def _groups(self, broken: Sequence[Demand]) -> list[Group]:
        """The broken constraints with all that share pods with them."""
        groups: list[Group] = []
        seen: set[int] = set()
        for demand in broken:
            if demand.number not in seen:
                groups.append(self._regions.related([demand]))
                seen.update(other.number for other in groups[-1][1])
        return groups

    def _counted(self, groups: Sequence[Group]) -> Values:
        """What counting alone says: the moves that the constraint that needs most of each group needs."""
        bounds = dict.fromkeys((*self._stages, "softExcess"), 0)
        for templates, demands in groups:
            least = max((_least_moves(demand) for demand in demands if demand.hard), default=0)
            weights = [int(self._movable.weights[self._movable.of(t)].min()) for t in templates]
            bounds["moves"] += least
            bounds["disruption"] += least * min(weights, default=0)
        return bounds

    def _bounds(self, groups: Sequence[Group]) -> Values:
        """What no moves can better: the sum over constraints that compete for room alone."""
        total = Counter(dict.fromkeys(self._stages, 0))
        inside = {demand.number for _, demands in groups for demand in demands}
        total["softExcess"] = 0
        for templates, demands in groups:
            region = self._regions.relaxed(templates, demands)
            total.update(self._bound(region) if region.size <= _MOST_VARIABLES else {})
        total["hardExcess"] += sum(
            demand.excess()
            for demand in self._board.ledger.demands
            if demand.hard and demand.number not in inside
        )
        return dict(total)

    def _bound(self, region: Region) -> Values:
        from planner.cpsat.moves import MoveModel

        shift = MoveModel(region, most_moves=self._most).solve(
            self._stages, self._clock.within(5), _EFFORT_NEARBY
        )
        if shift is None:
            return {}
        bounds: Values = {}
        for name in self._stages:
            bounds[name] = shift.bounds.get(name, 0)
            if shift.values.get(name) != bounds[name]:
                break
        return bounds

    def _greedily(self, broken: Sequence[Demand], *, natural: bool) -> tuple[list[Move], Values]:
        moves = self._remembering([]).mend(broken, self._left([]), natural=natural)
        return moves, self._values(moves)

    def _solved(
        self,
        best: tuple[list[Move], Values],
        bounds: Values,
        groups: Sequence[Group],
    ) -> tuple[tuple[list[Move], Values], Values]:
        """Better moves than the best so far, if the solver finds any, and the bounds that it proves."""
        nodes = np.arange(self._board.problem.nodes.size)
        templates = list(self._movable.templates)
        if len(templates) * len(nodes) > _MOST_VARIABLES:
            return self._repaired(best, bounds, groups), bounds
        kept = best
        demands = [d for d in self._board.ledger.demands if d.hard or SOFT in self._kinds]
        self._board.state.rollback(self._start)
        for tight in (False, True):
            region = self._regions.exact(templates, demands, nodes, tight=tight, moved=set())
            found, proved = self._follow(region, bounds)
            if not tight and self._key(proved) > self._key(bounds):
                bounds = proved
            if self._key(found[1]) < self._key(kept[1]):
                kept = found
            self._board.state.rollback(self._start)
            if self._key(kept[1]) <= self._key(bounds) or self._clock.over():
                break
        return kept, bounds

    def _repaired(
        self,
        best: tuple[list[Move], Values],
        bounds: Values,
        groups: Sequence[Group],
    ) -> tuple[list[Move], Values]:
        """Repair in a large cluster: afresh, then from where the best stands, then with the solver."""
        surroundings = LargeRepair(self._board, self._movable, self._regions, groups, self._clock)
        for start in ([], best[0]):
            if best[1]["hardExcess"] > bounds["hardExcess"] and not self._clock.over():
                self._set(start)
                moves = [*start, *surroundings.chains(self._remembering(start), self._left(start))]
                best = min(best, (moves, self._values(moves)), key=lambda found: self._key(found[1]))
        self._set(best[0])
        if best[1]["hardExcess"] > bounds["hardExcess"]:
            moves = [*best[0], *surroundings.solved(best[0], self._most)]
            best = min(best, (moves, self._values(moves)), key=lambda found: self._key(found[1]))
        return best

    def _set(self, moves: Iterable[Move]) -> None:
        """Let just these moves have happened."""
        self._board.state.rollback(self._start)
        for move in moves:
            self._board.make(move)

    def _left(self, moves: Sequence[Move]) -> int:
        return _PLENTY if self._most is None else self._most - len(moves)

    def _remembering(self, moves: Sequence[Move]) -> Greedy:
        greedy = Greedy(self._board, self._movable, self._protections)
        greedy.remember(moves)
        return greedy

    def _follow(self, region: Region, bounds: Values) -> tuple[tuple[list[Move], Values], Values]:
        """The moves that a region's solution leads to, and its bounds."""
        shift = self._shift(region, bounds["hardExcess"])
        if shift is None:
            return ([], self._values([])), bounds
        sequencer = Sequencer.following(self._board, self._movable, region, shift.leaving, shift.coming)
        moves = sequencer.run(self._clock.over)
        proved = dict(bounds)
        for name in self._stages:
            proved[name] = max(shift.bounds.get(name, 0), bounds[name])
            if shift.values.get(name) != proved[name]:
                break
        return (moves, self._values(moves)), proved

    def _shift(self, region: Region, excess: int) -> Shift | None:
        """The best that the solver finds: first with as little too much as the bound says."""
        from planner.cpsat.moves import MoveModel

        if self._most is None:
            model = MoveModel(region, hard_excess=excess)
            shift = model.solve(self._stages[1:], self._clock.within(self._clock.left() / 2), _EFFORT)
            if shift is not None:
                known = {"hardExcess": excess}
                return replace(shift, values={**known, **shift.values}, bounds={**known, **shift.bounds})
        return MoveModel(region, most_moves=self._most).solve(self._stages, self._clock, _EFFORT)


def _least_moves(demand: Demand) -> int:
    """The moves that a constraint needs at least before nothing is too much."""
    rule = demand.rule
    if not demand.excess():
        return 0
    held = rule.counts.sums()[rule.counts.domains]
    return moves_needed(held, demand.max_skew, few_domains=rule.few_domains, closed=False) or 0
