"""Moves in waves on a cluster that is next to full, so that the node of every replacement is known.

Where most replacements may land on any of several nodes, the last moves may have no node that is certain to
have room.  Here each replacement has one node: the only one with room, the one with the highest score, or the
one that it is pinned to.  None takes a node that is being emptied for a larger pod.  Once all pods left are
of about one size it no longer matters which of them is where.
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
    """Plans waves for moves and carries them out on a timeline.

    As long as all moves are in `_first`, only landings on one known node are accepted.
    """

    def __init__(self, timeline: EvictionTimeline, moves: Sequence[Move], rules: WaveRules) -> None:
        super().__init__(timeline, moves, rules, RetryHints(first=_first(moves)))
        #: For every size the nodes to which larger pods are to come, for the wave being planned.
        self._emptied: dict[int, Mask] = {}

    @staticmethod
    def _judged_each() -> int:
        return effort.KNOWN_JUDGED

    def _wave_of(self, ready: Sequence[Move], groups: Sequence[Sequence[Move]]) -> list[Landing]:
        """One move to one node; of pods of one size as many as hold wherever each of them lands."""
        self._emptied.clear()
        sizes = {self._order.size(move) for move in self._left}
        return (
            (self._wherever_it_is(ready, groups) if len(sizes) == 1 else [])
            or next(filter(None, (self._one_of(self._different(group)) for group in groups)), [])
            or next(filter(None, map(self._with_a_pin, groups)), [])
            or self._with_a_pin(self._in_the_way(ready))
        )

    def _wherever_it_is(self, ready: Sequence[Move], groups: Sequence[Sequence[Move]]) -> list[Landing]:
        """The wave that adds the least uncertainty; unlike other waves it may add some."""
        self._first.clear()
        found = super()._wave_of(ready, groups)
        if not found:
            self._first |= _first(self._left)
        return found

    def _is_welcome(self, landing: Landing) -> bool:
        """Whether it is on one node, and takes no node that is being emptied for a larger pod."""
        if self._first and (landing.nodes.sum() > 1 or (landing.nodes & self._awaited(landing.move)).any()):
            return False
        return super()._is_welcome(landing)

    def _certain(self, move: Move) -> Ints:
        """The nodes certain to have room for a pod, those that larger pods are to come to last."""
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
    """Rank 1 for every move: all of them go as long as every landing is certain."""
    return {move.pod: 1 for move in moves}
