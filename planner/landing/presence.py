"""What is known of where pods are while replacements are uncertain, and whether one more finds room."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from planner.landing.constraint_status import NodeCounts, OccupancyHistogram
from planner.landing.coupled_constraints import CoupledConstraints, LeavingPod
from planner.landing.outcomes import OutcomesByOption
from planner.landing.replacements import Replacement
from planner.landing.room import Group, Room, RoomRequest, UncertainReplacement
from planner.landing.spread_admission import Option
from planner.problem.nodes import Codes, Mask


class OpenNodes:
    """Some nodes by cell, and the least number of open nodes that any call of `finds_room` saw."""

    def __init__(self, coupled: CoupledConstraints, nodes: Mask) -> None:
        self._nodes = np.flatnonzero(nodes)
        self._cells = coupled.cell_of[self._nodes]
        self._known: dict[int, Codes] = {}
        self.least = len(self._nodes)

    def of(self, cell: int) -> Codes:
        """The nodes in a cell."""
        found = self._known.get(cell)
        if found is None:
            found = self._known[cell] = self._nodes[self._cells == cell]
        return found


class PossibleNodes:
    """Where one replacement may be, by room and by counts of its coupled constraints, wherever others are."""

    def __init__(self, case: Replacement, outcomes: OutcomesByOption, room: Room) -> None:
        self.case = case
        self.outcomes = outcomes
        self.coupled, self.leaving = outcomes.coupled, outcomes.leaving
        coupled = self.coupled
        self._room = room
        self._need = RoomRequest(case.template, case.free, case.same_wave, room_alone=case.room_alone)
        same_wave = [one for one in case.same_wave if one.template in coupled.templates]
        #: The uncertain replacements that change counts of these coupled constraints.
        self._counted = room.of(coupled.templates) + same_wave
        #: The counted pods on every node for certain, after the pod of the move has left.
        self.levels = certain_levels(room, coupled, [(case.template, case.move.source)])
        #: The nodes that may hold more counted pods than is known for certain.
        self.unsure = np.zeros_like(case.may)
        for uncertain in self._counted:
            self.unsure |= uncertain.nodes
            if uncertain.node < 0:
                self.unsure[uncertain.source] = True

    def at(self, options: Collection[Option]) -> Mask:
        """The nodes that are, or may be, at one of these options once the pod of the move has left."""
        return self.coupled.nodes_at(options, self.levels, self.unsure)

    def restricted(self, nodes: Mask, pin: Mask | None) -> LeavingPod:
        """The leaving pod with its replacement restricted to some nodes; its pin may name further nodes."""
        return self.leaving.restricted(self.coupled.restriction(nodes, self.levels, self.unsure, pin))

    def finds_room(
        self, inside: OpenNodes, histogram: OccupancyHistogram, options: Collection[Option]
    ) -> bool:
        """Whether one of the options has room for certain, wherever the uncertain replacements are."""
        allowed: dict[int, set[NodeCounts]] = {}
        for cell, level in options:
            allowed.setdefault(cell, set()).add(level)
        by_number, by_name, counted = list[Group](), list[Group](), list[UncertainReplacement]()
        for cell, several in allowed.items():
            there = inside.of(cell)
            shut = sum(nodes for level, nodes in histogram[cell] if level not in several)
            least = known = len(there)
            if shut and len(there):
                # An uncertain replacement that counts may exceed maxSkew on its node, and so close that node.
                near = [uncertain for uncertain in self._counted if uncertain.nodes[there].any()]
                known = max(0, _known_open(self.coupled, self.levels[:, there], several) - len(near))
                least = max(known, len(there) - shut)
                counted += near
            by_number.append((there, least))
            by_name.append((there, known))
        inside.least = min(inside.least, sum(least for _, least in by_number))
        if self._room.is_enough(self._need, by_number):
            return True
        if not counted:
            return False
        if self._room.is_enough(self._need, by_name, counted):
            return True
        nodes = np.concatenate([inside.of(cell) for cell in allowed])
        headroom = self.coupled.headroom(histogram, self.leaving, nodes, self.levels)
        return self._room.has_places(self._need, nodes, headroom, self._counted)


def certain_levels(room: Room, coupled: CoupledConstraints, gone: Iterable[tuple[int, int]]) -> Codes:
    """The counted pods on every node for certain, without pods that are `gone`: (template, node)."""
    uncertain = ((one.template, one.node) for one in room.of(coupled.templates))
    return coupled.levels((*uncertain, *gone))


def _known_open(coupled: CoupledConstraints, levels: Codes, several: Collection[NodeCounts]) -> int:
    """How many nodes are at one of these levels, not counting uncertain replacements."""
    if not coupled.by_node:
        return int(levels.shape[1])
    found = np.zeros(levels.shape[1], np.bool_)
    for level in several:
        found |= (levels == np.array(level, np.int64)[:, np.newaxis]).all(axis=0)
    return int(found.sum())
