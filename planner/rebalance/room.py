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
        #: Replacements of earlier waves that may have landed on several nodes.
        self.astray: list[Rival] = []
        #: All of whom it is not known where they are: also those that fill all the nodes where they may be,
        #: so that what is left there is known.
        self.elsewhere: list[Rival] = []
        self._of: dict[int, list[Rival]] = {}
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

    def of(self, templates: Iterable[int]) -> list[Rival]:
        """The replacements of some templates of which it is not known where they are."""
        return [rival for template in templates for rival in self._of.get(template, ())]

    def add(self, rival: Rival) -> None:
        """Take note of a replacement that may be on several nodes."""
        self.astray.append(rival)
        self.elsewhere.append(rival)
        self._of.setdefault(rival.template, []).append(rival)
        self._stacked = None
        self._astray_load[:, rival.node] += self.takes[rival.template]

    def narrow(self, rival: Rival, nodes: Mask) -> None:
        """Take note that a replacement is on one of fewer nodes."""
        known = replace(rival, nodes=nodes)
        for several in (self.astray, self.elsewhere, self._of[rival.template]):
            for number, one in enumerate(several):
                if one is rival:
                    several[number] = known
        self._stacked = None

    def settle(self, rival: Rival, scarce: Sequence[Mask]) -> None:
        """If he and all who may be where he is fill these nodes, take what is left there for certain.

        `scarce` has for every resource the nodes where nothing else can run out.
        """
        nodes, company = self._company(rival)
        free, takes = self.free()[:, nodes], self.takes[[one.template for one in company]]
        for resource, ample in enumerate(scarce):
            unit = int(np.gcd.reduce(takes[:, resource]))
            filled = unit and (free[resource] // unit).sum() * unit == takes[:, resource].sum()
            if filled and ample[nodes].all():
                known = {id(one) for one in company}
                self.astray = [one for one in self.astray if id(one) not in known]
                for one in company:
                    self._astray_load[:, one.node] -= self.takes[one.template]
                self._stacked = None
                return

    def _company(self, rival: Rival) -> tuple[Codes, list[Rival]]:
        """All who may be on the same nodes as a rival, or as one of these, and where they may be."""
        nodes, company = rival.nodes, [rival]
        while True:
            found = [one for one in self.astray if (one.nodes & nodes).any()]
            if len(found) == len(company):
                return np.flatnonzero(nodes), found
            nodes, company = np.logical_or.reduce([one.nodes for one in found]), found

    def tell_nobody_apart(self) -> None:
        """Forget in which worlds rivals are where."""
        open_yet = {id(rival) for rival in self.astray}
        everybody, self.astray, self.elsewhere, self._of = self.elsewhere, [], [], {}
        for rival in everybody:
            known = replace(rival, told_apart=False)
            self.elsewhere.append(known)
            self._of.setdefault(rival.template, []).append(known)
            if id(rival) in open_yet:
                self.astray.append(known)

    def free(self) -> Ints:
        """What is free on every node, were those that may be elsewhere all elsewhere."""
        board = self._board
        found: Ints = board.problem.allocatable - board.state.used + self._astray_load
        return found

    def free_on(self, node: int) -> Ints:
        """The same of one node."""
        board = self._board
        used: Ints = board.state.used[:, node] - self._astray_load[:, node]
        found: Ints = board.problem.allocatable[:, node] - used
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
        slots = [self._slots(template, free[:, group]) for group, _ in places]
        # Which of a group are open is not known: those with the least room, then.
        found = sum(int(np.sort(s)[:least].sum()) for s, (_, least) in zip(slots, places, strict=True))
        return found > self._lost(template, nodes, np.concatenate(slots), rivals)

    def _slots(self, template: int, free: Ints) -> Ints:
        """For how many pods of a template every node has room."""
        wants = self.wants(template)
        asked = np.flatnonzero(wants)
        found: Ints = (free[asked] // wants[asked, np.newaxis]).min(axis=0)
        return found

    def has_places(self, need: Need, nodes: Codes, bear: Ints, kin: Sequence[Rival]) -> bool:
        """The same of nodes that bear so many more of the rivals of its `kin`, and then are shut for it."""
        if not need.room_alone:
            return False
        slots = np.where(bear > 0, self._slots(need.template, need.free[:, nodes]), 0)
        known = {id(rival) for rival in kin}
        others = [rival for rival in self._near(nodes, need.mates) if id(rival) not in known]
        near = [rival for rival in kin if rival.nodes[nodes].any()]
        lost = self._lost(need.template, nodes, slots, others) + self._lost(
            need.template, nodes, slots, near, bear
        )
        return int(slots.sum()) > lost

    def _lost(
        self, template: int, nodes: Codes, slots: Ints, rivals: Sequence[Rival], bear: Ints | None = None
    ) -> int:
        """How many places on some nodes rivals can take at most: of a kind each where it takes the most.

        A node that they shut when it bears no more of them is lost as a whole.
        """
        kinds: dict[int, list[Rival]] = {}
        for rival in rivals:
            kinds.setdefault(self._eats(template, rival.template), []).append(rival)
        lost = 0
        for eats, alike in kinds.items():
            reached = np.logical_or.reduce([rival.nodes[nodes] for rival in alike])
            there = slots[reached]
            # One after the other on a node they take so many each, and the last one what is left.
            each, whole = np.full(len(there), max(eats, 1)), there // max(eats, 1)
            if bear is not None:
                shut = bear[reached] * eats < there
                each = np.where(shut, -(-there // np.maximum(bear[reached], 1)), each)
                whole = np.where(shut, bear[reached], whole)
            elif not eats:
                continue
            takes = np.sort(np.concatenate([np.repeat(each, whole), np.maximum(there - each * whole, 0)]))
            lost += int(takes[::-1][: len(alike)].sum())
        return lost

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
