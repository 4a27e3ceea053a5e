"""Moves in waves on a cluster that is next to full, with nobody of whom it is not known where he is.

Where most replacements may come to any of several nodes, the last moves may find no room for certain.  Here
each comes to one node: the only one with room, the one to which scores lead, or the one that it is pinned
to.  None takes a node that is being emptied for a larger pod.  Once pods of one size are left it does not
matter any more which of them is where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from planner.problem.nodes import Ints
from planner.proof import effort
from planner.rebalance.landing import Landing
from planner.rebalance.phases import Stage
from planner.rebalance.scarce_waves import ScarceWaves
from planner.rebalance.trial_cluster import Move
from planner.rebalance.waves import Care, WaveRules


class KnownWaves(ScarceWaves):
    """Deals moves out to waves on a stage; they happen there."""

    def __init__(self, stage: Stage, moves: Sequence[Move], rules: WaveRules) -> None:
        super().__init__(stage, moves, rules, Care(first=_first(moves)))

    @staticmethod
    def _judged_each() -> int:
        return effort.KNOWN_JUDGED

    def _next_wave(self) -> list[Landing]:
        """One move to one node; of pods of one size as many as land well wherever it is."""
        if len({self._order.size(move) for move in self._left}) == 1:
            found = self._wherever_it_is()
            if found:
                return found
        self._fits.clear()
        self._swap()
        ready = [*self._ready()]
        groups = self._order.groups(ready, self._left)
        return (
            next(filter(None, (self._one_of(self._different(group)) for group in groups)), [])
            or next(filter(None, map(self._with_a_pin, groups)), [])
            or self._with_a_pin(self._in_the_way(ready))
        )

    def _wherever_it_is(self) -> list[Landing]:
        """The wave that leaves the most to be known."""
        self._first.clear()
        found = super()._next_wave()
        if not found:
            self._first |= _first(self._left)
        return found

    def _is_welcome(self, landing: Landing) -> bool:
        """Whether it is on one node, and leaves to larger pods what is made for them."""
        if self._first:
            nodes = np.flatnonzero(landing.nodes).tolist()
            if len(nodes) > 1 or not self._awaited(landing.move).isdisjoint(nodes):
                return False
        return super()._is_welcome(landing)

    def _certain(self, move: Move) -> Ints:
        """The nodes on which a pod can be for certain, those last that larger ones are to come to."""
        awaited = self._awaited(move)
        nodes = super()._certain(move).tolist()
        return np.array(sorted(nodes, key=lambda node: (node in awaited, node != move.target)), np.intp)

    def _awaited(self, move: Move) -> set[int]:
        """The nodes to which larger pods than a move's are to come."""
        size = self._order.size(move)
        return {other.target for other in self._left if self._order.size(other) > size}


def _first(moves: Iterable[Move]) -> dict[int, int]:
    """Everybody goes as long as all is certain."""
    return {move.pod: 1 for move in moves}
