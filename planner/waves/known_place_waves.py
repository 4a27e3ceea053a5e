"""Moves in waves on a cluster that is next to full, with nobody of whom it is not known where he is.

Where most replacements may come to any of several nodes, the last moves may find no room for certain.  Here
each comes to one node: the only one with room, the one to which scores lead, or the one that it is pinned
to.  None takes a node that is being emptied for a larger pod.  Once pods of about one size are left it does
not matter any more which of them is where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from planner.landing.landing import Landing
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Ints, Mask
from planner.proof import effort
from planner.waves.open_waves import RetryHints, WaveRules
from planner.waves.scarce_room_waves import ScarceRoomWaves


class KnownPlaceWaves(ScarceRoomWaves):
    """Deals moves out to waves on a stage; they happen there.

    As long as all are first, to `_first`, landings are sought that are certain.
    """

    def __init__(self, stage: EvictionTimeline, moves: Sequence[Move], rules: WaveRules) -> None:
        super().__init__(stage, moves, rules, RetryHints(first=_first(moves)))
        #: For every size the nodes to which larger pods are to come, in this turn.
        self._emptied: dict[int, Mask] = {}

    @staticmethod
    def _judged_each() -> int:
        return effort.KNOWN_JUDGED

    def _wave_of(self, ready: Sequence[Move], groups: Sequence[Sequence[Move]]) -> list[Landing]:
        """One move to one node; of pods of one size as many as land well wherever it is."""
        self._emptied.clear()
        sizes = {self._order.size(move) for move in self._left}
        return (
            (self._wherever_it_is(ready, groups) if len(sizes) == 1 else [])
            or next(filter(None, (self._one_of(self._different(group)) for group in groups)), [])
            or next(filter(None, map(self._with_a_pin, groups)), [])
            or self._with_a_pin(self._in_the_way(ready))
        )

    def _wherever_it_is(self, ready: Sequence[Move], groups: Sequence[Sequence[Move]]) -> list[Landing]:
        """The wave that leaves the most to be known, and need not leave all."""
        self._first.clear()
        found = super()._wave_of(ready, groups)
        if not found:
            self._first |= _first(self._left)
        return found

    def _is_welcome(self, landing: Landing) -> bool:
        """Whether it is on one node, and leaves to larger pods what is made for them."""
        if self._first and (landing.nodes.sum() > 1 or (landing.nodes & self._awaited(landing.move)).any()):
            return False
        return super()._is_welcome(landing)

    def _certain(self, move: Move) -> Ints:
        """The nodes on which a pod can be for certain, those last that larger ones are to come to."""
        nodes = super()._certain(move)
        order: Ints = np.lexsort((nodes != move.target, self._awaited(move)[nodes]))
        return nodes[order]

    def _awaited(self, move: Move) -> Mask:
        """The nodes to which larger pods than a move's are to come."""
        size = self._order.size(move)
        found = self._emptied.get(size)
        if found is None:
            found = self._emptied[size] = self._trial.problem.nodes.none.copy()
            found[[other.target for other in self._left if self._order.size(other) > size]] = True
        return found


def _first(moves: Iterable[Move]) -> dict[int, int]:
    """Everybody goes as long as all is certain."""
    return {move.pod: 1 for move in moves}
