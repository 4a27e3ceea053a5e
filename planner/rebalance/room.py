"""Room when replacements may have landed on any of several nodes: the best and the worst case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.problem.nodes import Codes, Ints, Mask
from planner.rebalance.trial_cluster import TrialCluster


@dataclass(frozen=True, slots=True)
class Rival:
    """A replacement that lands, or has landed, on one of these nodes.

    On the board the pod of one that has landed is on `node`; one that is to land leaves `source`.
    Of some all worlds are known in which they are here or there.
    """

    template: int
    nodes: Mask
    pod: int = -1
    node: int = -1
    source: int = -1
    told_apart: bool = False


class Room:
    """What is free on every node for certain, and how many nodes rivals can fill at most."""

    def __init__(self, board: TrialCluster) -> None:
        self._board = board
        problem = board.problem
        self._wants: dict[int, Ints] = {}
        self.takes: Ints = np.array([template.requests for template in problem.templates], np.int64)
        #: Replacements of earlier waves of which it is not known where they are.
        self.astray: list[Rival] = []
        self._astray_load = np.zeros_like(problem.allocatable)

    def wants(self, template: int) -> Ints:
        """What has to be free on a node for a pod of a template."""
        found = self._wants.get(template)
        if found is None:
            found = self._wants[template] = np.array(_wanted(self._board, template), np.int64)
        return found

    def add(self, rival: Rival) -> None:
        """Take note of a replacement that may be on several nodes."""
        self.astray.append(rival)
        self._astray_load[:, rival.node] += self.takes[rival.template]

    def tell_nobody_apart(self) -> None:
        """Forget in which worlds rivals are where."""
        self.astray = [replace(rival, told_apart=False) for rival in self.astray]

    def free(self) -> Ints:
        """What is free on every node, were those that may be elsewhere all elsewhere."""
        board = self._board
        found: Ints = board.problem.allocatable - board.state.used + self._astray_load
        return found

    def fits(self, template: int, free: Ints) -> Mask:
        """The nodes on which so much is enough for a pod of a template."""
        wants = self.wants(template)
        asked = np.flatnonzero(wants)
        found: Mask = np.all(free[asked] >= wants[asked, np.newaxis], axis=0)
        return found

    def filled(
        self, template: int, free: Ints, nodes: Codes, rivals: Iterable[Rival], *, room_alone: bool
    ) -> int:
        """Of nodes that have room for a pod of a template, how many rivals can take from it at most.

        A rival fills one node at most, and to fill a node they need what is to spare there, and more;
        unless it is not `room_alone` that they may take.
        """
        several = [*rivals]
        if not several or not nodes.size:
            return 0
        near = np.flatnonzero(np.array([rival.nodes[nodes].any() for rival in several]))
        if not near.size or not room_alone:
            return int(near.size)
        together = self.takes[[several[number].template for number in near.tolist()]].sum(axis=0)
        wants, found = self.wants(template), 0
        for row in np.flatnonzero(wants).tolist():
            spare = np.sort(free[row, nodes]) - wants[row] + 1
            found += int(np.count_nonzero(np.cumsum(spare) <= together[row]))
        return min(found, int(near.size))


def _wanted(board: TrialCluster, template: int) -> Sequence[int]:
    """What has to be free on a node for a pod of a template."""
    wanted = [0] * len(board.problem.resources)
    for row, amount in board.wants(template):
        wanted[row] = amount
    return wanted
