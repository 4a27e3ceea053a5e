"""Room when replacements may have landed on any of several nodes: the best and the worst case."""

from __future__ import annotations

from collections.abc import Sequence
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


#: Some nodes, and how many of them are open whatever happens.
Group = tuple[Codes, int]


@dataclass(frozen=True, slots=True)
class Need:
    """A pod of a template that needs room where so much is free, and those that land together with it.

    It may be `room_alone` that these take from it, or more.
    """

    template: int
    free: Ints
    mates: Sequence[Rival]
    room_alone: bool


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
        #: Their nodes, a row each; made when it is asked for.
        self._stacked: Mask | None = None
        self._known_eats: dict[tuple[int, int], int] = {}

    def wants(self, template: int) -> Ints:
        """What has to be free on a node for a pod of a template."""
        found = self._wants.get(template)
        if found is None:
            found = self._wants[template] = np.array(_wanted(self._board, template), np.int64)
        return found

    def add(self, rival: Rival) -> None:
        """Take note of a replacement that may be on several nodes."""
        self.astray.append(rival)
        self._stacked = None
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

    def is_enough(self, need: Need, places: Sequence[Group], counted: Sequence[Rival] = ()) -> bool:
        """Whether a pod finds room for certain, wherever those astray and its mates are.

        `places` are groups of nodes with room for it; for each of those `counted` one is off already.
        """
        certain = sum(least for _, least in places)
        if certain > len(self.astray) + len(need.mates):
            return True
        if not certain:
            return False
        template, free = need.template, need.free
        nodes = np.concatenate([group for group, _ in places])
        rivals = self._near(nodes, need.mates)
        off = {id(rival) for rival in counted}
        # A rival is on one node: it takes that one, whether it fills it or counts too much there.
        others = [rival.template for rival in rivals if id(rival) not in off]
        if certain > len(others) or not need.room_alone:
            return certain > len(others)
        near = [rival.template for rival in rivals]
        if certain > self._filled(template, free[:, nodes], near):
            return True
        wants = self.wants(template)
        asked = np.flatnonzero(wants)
        slots = [(free[np.ix_(asked, group)] // wants[asked, np.newaxis]).min(axis=0) for group, _ in places]
        # Which of a group are open is not known: those with the least room, then.
        found = sum(int(np.sort(s)[:least].sum()) for s, (_, least) in zip(slots, places, strict=True))
        most = max(int(s.max(initial=0)) for s in slots)
        return found > sum(min(self._eats(template, other), most) for other in near)

    def _near(self, nodes: Codes, mates: Sequence[Rival]) -> list[Rival]:
        """All rivals that may be on one of some nodes."""
        if self._stacked is None:
            size = self._board.problem.nodes.size
            self._stacked = np.array([rival.nodes for rival in self.astray], np.bool_).reshape(-1, size)
        astray = np.flatnonzero(self._stacked[:, nodes].any(axis=1)).tolist()
        found = [self.astray[number] for number in astray]
        return found + [mate for mate in mates if mate.nodes[nodes].any()]

    def _filled(self, template: int, free: Ints, near: Sequence[int]) -> int:
        """Of nodes with so much room, how many some rivals can take from a pod at most.

        A rival fills one node at most, and to fill a node they need what is to spare there, and more.
        """
        together = self.takes[[*near]].sum(axis=0)
        wants, found = self.wants(template), 0
        for row in np.flatnonzero(wants).tolist():
            spare = np.sort(free[row]) - wants[row] + 1
            found += int(np.count_nonzero(np.cumsum(spare) <= together[row]))
        return min(found, len(near))

    def _eats(self, template: int, other: int) -> int:
        """For how many pods of a template a pod of another one takes the room, at most."""
        found = self._known_eats.get((template, other))
        if found is None:
            wants = self.wants(template)
            asked = np.flatnonzero(wants)
            found = int((-(-self.takes[other][asked] // wants[asked])).max(initial=0))
            self._known_eats[template, other] = found
        return found


def _wanted(board: TrialCluster, template: int) -> Sequence[int]:
    """What has to be free on a node for a pod of a template."""
    wanted = [0] * len(board.problem.resources)
    for row, amount in board.wants(template):
        wanted[row] = amount
    return wanted
