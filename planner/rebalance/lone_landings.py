"""A replacement that lands alone: what holds it to one certain node, if anything does.

One that finds no node as long as its pod still ends waits for that, as the scheduler lets it wait, unless it
would preempt others instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial

import numpy as np

from planner.documents.move_plan import Place
from planner.problem.nodes import Mask
from planner.proof import effort
from planner.rebalance.landing import Landing
from planner.rebalance.movable import Movable
from planner.rebalance.phases import Phase, Stage
from planner.rebalance.places import Places
from planner.rebalance.preemption_risk import PreemptionRisk
from planner.rebalance.steerable import Steering
from planner.rebalance.trial_cluster import Move, TrialCluster


class LoneLandings:
    """Answers for single moves on a stage where all others have ended."""

    def __init__(self, stage: Stage, steering: Steering, *, lets_preempt: bool = False) -> None:
        """Landings on a stage; pinned, or kept off cordoned nodes, only as `steering` allows.

        Where a replacement could preempt others it does not land, unless told so.
        """
        self._stage = stage
        self.board = stage.board
        self._places = Places(stage.board)
        self._steering = steering
        self._risk = None if lets_preempt else PreemptionRisk(stage.board)

    @classmethod
    def of_all(cls, board: TrialCluster, movable: Movable, steering: Steering) -> LoneLandings:
        """For moves of all pods that may be moved, on a stage of their own."""
        return cls(Stage.of_all(board, np.flatnonzero(movable.weights).tolist()), steering)

    def of(self, move: Move) -> Landing | None:
        """What makes a replacement come to its target, if it may come there."""
        board = self.board
        mark = board.state.mark()
        allowed = board.attempt(move)
        board.state.rollback(mark)
        if not allowed:
            return None
        only: Mask = self._stage.problem.nodes.none.copy()
        only[move.target] = True
        found = self._held_by(move, only)
        board.state.rollback(mark)
        return found

    def _held_by(self, move: Move, only: Mask) -> Landing | None:
        """The landing on the target by what holds it there; None when nothing does."""
        board, template, there = self.board, self.board.template(move.pod), self._places.named(only)
        if self._stays_inside(move, only, partial(board.open_to, template)):
            return Landing(move, "filters", only, there)
        if self._stays_inside(move, only, partial(self._tops, template)):
            return Landing(move, "scores", only, there)
        if template in self._steering.pinnable:
            pins = (Landing(move, "pinned", only, there, wide) for wide in self._pins(move, only))
            return next(pins, None)
        return self._cordoned(move, only) if template in self._steering.cordonable else None

    def _pins(self, move: Move, only: Mask) -> Iterator[Place]:
        """Pins that hold; a narrow one hides all domains but one from constraints, a wide one few."""
        template = self.board.template(move.pod)
        for pin in (only, ~self._astray(move, only)):
            open_now = partial(self.board.open_to, template, pin)
            if int(pin.sum()) <= effort.PIN_NAMES and self._stays_inside(move, only, open_now, pinned=pin):
                yield self._places.named(pin)

    def _cordoned(self, move: Move, only: Mask) -> Landing | None:
        """The landing with all other nodes cordoned where it might land, if these are few."""
        wrong = self._astray(move, only)
        cordon = tuple(np.flatnonzero(wrong).tolist())
        if 0 < len(cordon) <= effort.MOST_CORDONED and self._stays_inside(
            move, only, lambda: self.board.open_to(self.board.template(move.pod)) & ~wrong, cordoned=cordon
        ):
            return Landing(move, "cordoned", only, self._places.named(only), cordon=cordon)
        return None

    def _stays_inside(
        self,
        move: Move,
        only: Mask,
        nodes: Callable[[], Mask],
        *,
        pinned: Mask | None = None,
        cordoned: Collection[int] = (),
    ) -> bool:
        """Whether some nodes are never others than these, and one of these when the pod has ended.

        Nor may the replacement preempt others as long as there are none.
        """
        found, template = only, self.board.template(move.pod)
        for _ in self._own_phases(move):
            found = nodes()
            if (found & ~only).any():
                return False
            if not found.any() and self._risk and self._risk.threatens(template, pinned, cordoned=cordoned):
                return False
        return bool(found.any())

    def _own_phases(self, move: Move) -> Iterator[None]:
        """The stage with the pod as far as it may be when its replacement is scheduled; last it has ended."""
        for phase in (Phase.LEAVING, Phase.GONE):
            if phase is Phase.GONE or not self._stage.waits_for_the_end(move):
                self._stage.put(move, phase)
                yield

    def _astray(self, move: Move, only: Mask) -> Mask:
        """The other nodes where a replacement might land of its own accord."""
        template, found = self.board.template(move.pod), np.zeros_like(only)
        for _ in self._own_phases(move):
            found |= self.board.open_to(template)
        return found & ~only

    def _tops(self, template: int) -> Mask:
        """The nodes with the highest score."""
        feasible, totals = self.board.choice(template)
        best = totals[feasible.mask].max(initial=0)
        found: Mask = feasible.mask & (totals == best)
        return found
