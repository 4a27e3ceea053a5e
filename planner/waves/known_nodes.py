"""The order of moves on a cluster that is next to full, in which the node of every replacement is known.

Where most replacements may land on any of several nodes, the last moves may have no node that is certain to
have room.  Here each replacement has one node: the only one with room, the one with the highest score, or the
one that it is pinned to.  None takes a node that is being emptied for a larger pod.  Once all pods left are
of about one size it no longer matters which of them is where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from planner.landing.landing import Landing
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Ints, Mask
from planner.proof import effort
from planner.waves.candidates import Candidates, Within
from planner.waves.scarce_room import ScarceRoom


class KnownNodes(ScarceRoom):
    """One move to one node; of pods of one size as many as hold wherever each of them lands."""

    def __init__(self, candidates: Candidates, moves: Sequence[Move]) -> None:
        super().__init__(candidates, moves, effort.KNOWN_JUDGED)
        self._left: Sequence[Move] = moves
        #: For every size the nodes to which larger pods are to come, for the wave being planned.
        self._emptied: dict[int, Mask] = {}
        self._any_node, self._one_node = self._in_domain, Within(self._not_awaited, self._open, one_node=True)
        self._every_landing_is_certain(moves)

    def _every_landing_is_certain(self, moves: Iterable[Move]) -> None:
        """From now on only landings on one known node hold."""
        self._candidates.first.update({move.pod: 1 for move in moves})
        self._in_domain = self._one_node

    def _wave_of(
        self, ready: Sequence[Move], groups: Sequence[Sequence[Move]], left: list[Move]
    ) -> Sequence[Landing]:
        self._left = left
        self._emptied.clear()
        sizes = {self._order.size(move) for move in left}
        return (
            (self._wherever_it_is(ready, groups, left) if len(sizes) == 1 else [])
            or next(filter(None, (self._one_of(self._different(group)) for group in groups)), [])
            or next(filter(None, (self._with_a_pin(group, left) for group in groups)), [])
            or self._with_a_pin(self._in_the_way(ready, left), left)
        )

    def _wherever_it_is(
        self, ready: Sequence[Move], groups: Sequence[Sequence[Move]], left: list[Move]
    ) -> Sequence[Landing]:
        """The wave that adds the least uncertainty; unlike other waves it may add some."""
        self._candidates.first.clear()
        self._in_domain = self._any_node
        found = super()._wave_of(ready, groups, left)
        if not found:
            self._every_landing_is_certain(left)
        return found

    def _certain(self, move: Move) -> Ints:
        """The nodes certain to have room for a pod, those that larger pods are to come to last."""
        nodes = super()._certain(move)
        order: Ints = np.lexsort((nodes != move.target, self._awaited(move)[nodes]))
        return nodes[order]

    def _not_awaited(self, move: Move) -> Mask:
        """The planned domain without the nodes to which larger pods are to come."""
        return self._near(move) & ~self._awaited(move)

    def _awaited(self, move: Move) -> Mask:
        """The nodes to which larger pods than a move's are to come."""
        size = self._order.size(move)
        found = self._emptied.get(size)
        if found is None:
            found = self._emptied[size] = self._trial.problem.nodes.none.copy()
            found[[other.target for other in self._left if self._order.size(other) > size]] = True
        return found
