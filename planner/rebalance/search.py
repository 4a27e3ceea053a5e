"""The search for the moves: bounds, then as the scheduler would, then the solver where that is not enough.

Constraints that share no pods are bounded one by one; they compete for room alone.  In a tiny cluster
everything is tried out.  A small one is solved as a whole.  In a large one what is still broken is
repaired with its surroundings: the nodes that come closest to having room, and whatever may move away
from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from planner.cpsat.region import Region
from planner.eviction.protections import SOFT, Protections
from planner.proof import effort
from planner.proof.bounds import Assumption, Claim, Measured, Stage, judge
from planner.proof.meter import Meter
from planner.rebalance.excess_ledger import Demand
from planner.rebalance.exhaustive import Exhaustive, Values, is_tiny
from planner.rebalance.greedy import Greedy
from planner.rebalance.large_repair import Group, LargeRepair
from planner.rebalance.lower_bounds import LowerBounds, chained, proved_by
from planner.rebalance.movable import Movable
from planner.rebalance.placements import Placements
from planner.rebalance.region import Regions
from planner.rebalance.sequence import Sequencer
from planner.rebalance.trial_cluster import Move, TrialCluster

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift

Found = tuple[list[Move], Values]


@dataclass(frozen=True, slots=True)
class FoundMoves:
    """Moves in an order that holds, what they achieve stage by stage, and what any moves could."""

    moves: Sequence[Move]
    values: Values
    stages: Sequence[str]
    claims: Sequence[Claim]

    def judged(self) -> Iterator[Stage]:
        """Every stage of the objective with its verdict, for all of the moves."""
        return judge([Measured(name, self.values[name], largest=False) for name in self.stages], self.claims)


class MoveSearch:
    """Looks for the fewest moves on a board, which it leaves as it found it."""

    def __init__(
        self,
        board: TrialCluster,
        movable: Movable,
        protections: Protections,
        meter: Meter,
        most: int | None = None,
    ) -> None:
        self._board = board
        self._movable = movable
        self._protections = protections
        self._kinds = kinds = protections.kinds
        self._meter = meter
        self._most = most
        self._regions = Regions(board, movable, protections)
        self._stages = ("hardExcess", *(("softExcess",) if SOFT in kinds else ()), "moves", "disruption")
        self._start = board.state.mark()
        self._bounds = LowerBounds(movable, self._regions, self._stages, most)
        self._claims: list[Claim] = []

    def run(self, *, natural: bool = False) -> FoundMoves:
        """The best moves found; with `natural` only those that the scheduler makes of its own accord."""
        broken = self._board.ledger.broken(self._kinds)
        groups = self._bounds.groups(broken)
        self._claims += self._bounds.counted(groups)
        self._meter.look_for("moves as the scheduler makes them")
        best = self._greedily(broken, natural=natural)
        self._board.state.rollback(self._start)
        for step in (self._exhausted_soon, self._relaxed, *(() if natural else self._steps)):
            if not self._is_open(best):
                break
            best = min(best, step(best, groups), key=self._key)
            self._board.state.rollback(self._start)
        return FoundMoves(*best, self._stages, self._claims)
