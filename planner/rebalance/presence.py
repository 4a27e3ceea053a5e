"""What is known of where pods are while replacements land on any of several nodes, and who finds room."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from planner.problem.nodes import Codes, Mask
from planner.rebalance.admission import Option
from planner.rebalance.cases import Case, Cases
from planner.rebalance.crowds import Crowd, Mover
from planner.rebalance.figures import Level, Tableau
from planner.rebalance.room import Group, Need, Rival, Room
from planner.rebalance.trial_cluster import Move, TrialCluster


class Inside:
    """Some nodes by the cells of a crowd, and how many of those that were asked for are open at least."""

    def __init__(self, crowd: Crowd, nodes: Mask) -> None:
        self._nodes = np.flatnonzero(nodes)
        self._cells = crowd.cell_of[self._nodes]
        self._known: dict[int, Codes] = {}
        self.least = len(self._nodes)
        #: The pods of the crowd on every node for certain; made when somebody asks.
        self.levels: Codes | None = None

    def of(self, cell: int) -> Codes:
        """Those in a cell."""
        found = self._known.get(cell)
        if found is None:
            found = self._known[cell] = self._nodes[self._cells == cell]
        return found


class Presence:
    """Answers for crowds and the room of a stage."""

    def __init__(self, board: TrialCluster, room: Room, cases: Cases) -> None:
        self._board = board
        self._room = room
        self._cases = cases

    def where(self, case: Case, crowd: Crowd, options: Collection[Option]) -> Mask:
        """The nodes that are, or may be, one of these options for the replacement of a lone move."""
        return crowd.nodes_at(options, self.levels(crowd, [case.move]), self.unsure(case, crowd))

    def finds_room(  # noqa: PLR0913, PLR0917 - a move and where it may be
        self,
        case: Case,
        crowd: Crowd,
        mover: Mover,
        inside: Inside,
        tableau: Tableau,
        options: Collection[Option],
    ) -> bool:
        """Whether one of the options has room for certain, wherever rivals are."""
        allowed: dict[int, set[Level]] = {}
        for cell, level in options:
            allowed.setdefault(cell, set()).add(level)
        need = Need(case.template, case.free, case.mates, room_alone=not self._cases.rules(case.template))
        by_number, by_name, counted = list[Group](), list[Group](), list[Rival]()
        for cell, several in allowed.items():
            there = inside.of(cell)
            shut = sum(nodes for level, nodes in tableau[cell] if level not in several)
            least = known = len(there)
            if shut and len(there):
                # Rivals of the crowd may count too much for it where they are: they take that node from it.
                kin = [rival for rival in self.kin(case, crowd) if rival.nodes[there].any()]
                if inside.levels is None:
                    inside.levels = self.levels(crowd, [case.move])
                known = max(0, _known_open(crowd, inside.levels[:, there], several) - len(kin))
                least = max(known, len(there) - shut)
                counted += kin
            by_number.append((there, least))
            by_name.append((there, known))
        inside.least = min(inside.least, sum(least for _, least in by_number))
        if self._room.is_enough(need, by_number):
            return True
        if not counted:
            return False
        if self._room.is_enough(need, by_name, counted):
            return True
        nodes = np.concatenate([inside.of(cell) for cell in allowed])
        levels = self.levels(crowd, [case.move]) if inside.levels is None else inside.levels
        bear = crowd.bear(tableau, mover, nodes, levels)
        return self._room.has_places(need, nodes, bear, self.kin(case, crowd))

    def kin(self, case: Case, crowd: Crowd) -> list[Rival]:
        """The rivals that count where a crowd does."""
        mates = [mate for mate in case.mates if mate.template in crowd.templates]
        return self._room.of(crowd.templates) + mates

    def levels(self, crowd: Crowd, gone: Iterable[Move]) -> Codes:
        """The pods of a crowd on every node for certain, when some of them have gone."""
        away = [(rival.template, rival.node) for rival in self._room.of(crowd.templates)]
        return crowd.levels((*away, *((self._board.template(move.pod), move.source) for move in gone)))

    def unsure(self, case: Case, crowd: Crowd) -> Mask:
        """The nodes that may hold more pods of a crowd than is known for certain."""
        found = np.zeros_like(case.may)
        for rival in self.kin(case, crowd):
            found |= rival.nodes
            if rival.node < 0:
                found[rival.source] = True
        return found


def _known_open(crowd: Crowd, levels: Codes, several: Collection[Level]) -> int:
    """Of nodes with so many pods, how many are at one of these levels, but for rivals of the crowd."""
    if not crowd.by_node:
        return int(levels.shape[1])
    found = np.zeros(levels.shape[1], np.bool_)
    for level in several:
        found |= (levels == np.array(level, np.int64)[:, np.newaxis]).all(axis=0)
    return int(found.sum())
