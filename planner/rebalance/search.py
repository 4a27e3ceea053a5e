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
from planner.nodes import Codes
from planner.rebalance.board import Board, Move
from planner.rebalance.bounds import moves_needed
from planner.rebalance.chains import Chains
from planner.rebalance.greedy import Greedy
from planner.rebalance.ledger import Demand
from planner.rebalance.movable import Movable
from planner.rebalance.protections import SOFT, Protections
from planner.rebalance.region import Region, Regions
from planner.rebalance.sequence import Sequencer

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift

#: Up to so many variables a region is solved as a whole.
_MOST_VARIABLES = 20_000
#: Nodes of a neighbourhood, for each domain.
_NEARBY = (8, 20, 40)
#: The most work on a stage, in the solver's own seconds.
_EFFORT, _EFFORT_NEARBY = 20.0, 5.0
_PLENTY = 1 << 30

Values = dict[str, int]


@dataclass(frozen=True, slots=True)
class Found:
    """Moves in an order that holds, what they achieve stage by stage, and what any moves could."""

    moves: Sequence[Move]
    values: Values
    bounds: Values


class Search:
    """Looks for the fewest moves on a board, which it leaves as it found it."""

    def __init__(
        self, board: Board, movable: Movable, protections: Protections, clock: Clock, most: int | None = None
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

    def run(self, *, natural: bool = False) -> Found:
        """The best moves found; with `natural` only those that the scheduler makes of its own accord."""
        broken = self._board.ledger.broken(self._kinds)
        groups = self._groups(broken)
        bounds = self._counted(groups)
        best = self._greedily(broken, natural=natural)
        if self._key(best[1]) > self._key(bounds):
            self._board.state.rollback(self._start)
            bounds = max(bounds, self._bounds(groups), key=self._key)
            for move in best[0]:
                self._board.make(move)
        if not natural and self._key(best[1]) > self._key(bounds):
            best, bounds = self._solved(best, bounds, groups)
        moves, values = best
        self._board.state.rollback(self._start)
        return Found(moves, values, bounds)

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

    def _groups(self, broken: Sequence[Demand]) -> list[tuple[list[int], list[Demand]]]:
        """The broken constraints with all that share pods with them."""
        groups: list[tuple[list[int], list[Demand]]] = []
        seen: set[int] = set()
        for demand in broken:
            if demand.number not in seen:
                groups.append(self._regions.related([demand]))
                seen.update(other.number for other in groups[-1][1])
        return groups

    def _counted(self, groups: Sequence[tuple[list[int], list[Demand]]]) -> Values:
        """What counting alone says: the moves that the constraint that needs most of each group needs."""
        bounds = dict.fromkeys((*self._stages, "softExcess"), 0)
        for templates, demands in groups:
            least = max((_least_moves(demand) for demand in demands if demand.hard), default=0)
            weights = [int(self._movable.weights[self._movable.of(t)].min()) for t in templates]
            bounds["moves"] += least
            bounds["disruption"] += least * min(weights, default=0)
        return bounds

    def _bounds(self, groups: Sequence[tuple[list[int], list[Demand]]]) -> Values:
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
        most = _PLENTY if self._most is None else self._most
        self._greedy = Greedy(self._board, self._movable, self._protections)
        moves = self._greedy.mend(broken, most, natural=natural)
        return moves, self._values(moves)

    def _solved(
        self,
        best: tuple[list[Move], Values],
        bounds: Values,
        groups: Sequence[tuple[list[int], list[Demand]]],
    ) -> tuple[tuple[list[Move], Values], Values]:
        """Better moves than the best so far, if the solver finds any, and the bounds that it proves."""
        nodes = np.arange(self._board.problem.nodes.size)
        templates = list(self._movable.templates)
        if len(templates) * len(nodes) > _MOST_VARIABLES:
            return self._nearby(best, groups), bounds
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

    def _follow(self, region: Region, bounds: Values) -> tuple[tuple[list[Move], Values], Values]:
        """The moves that a region's solution leads to, and its bounds."""
        shift = self._shift(region, bounds["hardExcess"])
        if shift is None:
            return ([], self._values([])), bounds
        moves = self._in_order(region, shift.leaving, shift.coming)
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

    def _in_order(
        self, region: Region, leaving: Counter[tuple[int, int]], coming: Counter[tuple[int, int]]
    ) -> list[Move]:
        sequencer = Sequencer(
            self._board,
            self._movable,
            Counter({(t, region.nodes[site]): n for (t, site), n in leaving.items()}),
            Counter({(t, region.nodes[site]): n for (t, site), n in coming.items()}),
        )
        return sequencer.run(self._clock.over)

    def _nearby(
        self, best: tuple[list[Move], Values], groups: Sequence[tuple[list[int], list[Demand]]]
    ) -> tuple[list[Move], Values]:
        """Repair what is still broken with its surroundings, one constraint after the other."""
        moves = list(best[0])
        stuck = {t for templates, demands in groups if any(d.excess() for d in demands) for t in templates}
        chains = Chains(self._board, self._movable, self._greedy, stuck, self._clock.over)
        broken = [demand for _, demands in groups for demand in demands if demand.hard and demand.excess()]
        for demand in sorted(broken, key=chains.size):
            most = _PLENTY if self._most is None else self._most - len(moves)
            moves += chains.mend(demand, most)
        for radius in _NEARBY:
            for templates, demands in groups:
                if self._clock.over() or not any(demand.excess() for demand in demands):
                    continue
                moves += self._repair(templates, demands, stuck, {move.pod for move in moves}, radius)
        return moves, self._values(moves)

    def _repair(
        self,
        templates: Sequence[int],
        demands: Sequence[Demand],
        stuck: set[int],
        moved: set[int],
        radius: int,
    ) -> list[Move]:
        from planner.cpsat.moves import MoveModel

        nodes = self._surroundings(templates, demands, radius)
        others = self._bystanders(nodes, stuck)
        every = sorted({*templates, *others})
        touched = self._board.ledger.touched(every)
        region = self._regions.exact(every, touched, nodes, tight=True, moved=moved)
        model = MoveModel(region, most_moves=None if self._most is None else self._most - len(moved))
        shift = model.solve(("hardExcess", "moves"), self._clock.within(10), _EFFORT_NEARBY)
        if shift is None:
            return []
        before, mark = self._board.ledger.excess(hard=True), self._board.state.mark()
        found = self._in_order(region, shift.leaving, shift.coming)
        if self._board.ledger.excess(hard=True) >= before:
            self._board.state.rollback(mark)
            return []
        return found

    def _surroundings(self, templates: Sequence[int], demands: Sequence[Demand], radius: int) -> Codes:
        """Where pods are too many, and the nodes of the other domains that are closest to having room."""
        board = self._board
        open_to = np.logical_or.reduce([board.plan(template).settled for template in templates])
        holding = np.zeros_like(open_to)
        for template in templates:
            holding[board.state.node_of[self._movable.of(template)]] = True
        lack, chosen = self._lack(templates), np.zeros_like(open_to)
        broken = next(demand for demand in demands if demand.excess())
        codes, surplus = broken.rule.column.codes, broken.surplus()
        full = np.append(surplus > 0, False)[codes]
        sources = np.flatnonzero(holding & full)
        chosen[sources[np.argsort(lack[sources], kind="stable")[: int(surplus.sum()) + radius]]] = True
        shared = len(surplus) * 2 <= len(codes)
        for domain in range(len(surplus)) if shared else (None,):
            inside = np.flatnonzero(open_to & ~full & (True if domain is None else codes == domain))
            chosen[inside[np.argsort(lack[inside], kind="stable")[:radius]]] = True
        return np.flatnonzero(chosen)

    def _lack(self, templates: Sequence[int]) -> Codes:
        """For every node the part of the largest request that is missing there."""
        problem, state = self._board.problem, self._board.state
        wanted = np.max([problem.templates[t].requests for t in templates], axis=0)[:, np.newaxis]
        missing = np.maximum(wanted - (problem.allocatable - state.used), 0) / np.maximum(wanted, 1)
        lack: Codes = np.where(wanted > 0, missing, 0).sum(axis=0)
        return lack

    def _bystanders(self, nodes: Codes, stuck: set[int]) -> set[int]:
        """The movable templates with pods on some nodes; those that are stuck themselves keep out."""
        inside = np.zeros(self._board.problem.nodes.size, np.bool_)
        inside[nodes] = True
        pods = np.flatnonzero(self._movable.weights)
        there = pods[inside[self._board.state.node_of[pods]]]
        return set(np.unique(self._board.problem.template_of[there]).tolist()) - stuck


def _least_moves(demand: Demand) -> int:
    """The moves that a constraint needs at least before nothing is too much."""
    rule = demand.rule
    if not demand.excess():
        return 0
    held = rule.counts.sums()[rule.counts.domains]
    return moves_needed(held, demand.max_skew, few_domains=rule.few_domains, closed=False) or 0
