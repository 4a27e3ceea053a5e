"""What is known of where pods are while replacements are uncertain, and whether one more finds room."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from planner.landing.constraint_status import NodeCounts, OccupancyHistogram
from planner.landing.coupled_constraints import CoupledConstraints, LeavingPod
from planner.landing.replacements import Replacement, Replacements
from planner.landing.room import Group, Room, RoomRequest, UncertainReplacement
from planner.landing.spread_admission import Option
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes, Mask


class OpenNodes:
    """Some nodes by cell, and the least number of open nodes that any call of `finds_room` saw."""

    def __init__(self, coupled: CoupledConstraints, nodes: Mask) -> None:
        self._nodes = np.flatnonzero(nodes)
        self._cells = coupled.cell_of[self._nodes]
        self._known: dict[int, Codes] = {}
        self.least = len(self._nodes)
        #: The counted pods on every node for certain; computed on first use.
        self.levels: Codes | None = None

    def of(self, cell: int) -> Codes:
        """The nodes in a cell."""
        found = self._known.get(cell)
        if found is None:
            found = self._known[cell] = self._nodes[self._cells == cell]
        return found


class Presence:
    """Combines counts of coupled constraints with room, for single replacements."""

    def __init__(self, trial: TrialCluster, room: Room, cases: Replacements) -> None:
        self._trial = trial
        self._room = room
        self._cases = cases

    def where(self, case: Replacement, coupled: CoupledConstraints, options: Collection[Option]) -> Mask:
        """The nodes that are, or may be, at one of these options once the pod of the move has left."""
        return coupled.nodes_at(options, self.levels(coupled, [case.move]), self.unsure(case, coupled))

    def finds_room(  # noqa: PLR0913, PLR0917 - a move and where it may be
        self,
        case: Replacement,
        coupled: CoupledConstraints,
        leaving: LeavingPod,
        inside: OpenNodes,
        histogram: OccupancyHistogram,
        options: Collection[Option],
    ) -> bool:
        """Whether one of the options has room for certain, wherever the uncertain replacements are."""
        allowed: dict[int, set[NodeCounts]] = {}
        for cell, level in options:
            allowed.setdefault(cell, set()).add(level)
        need = RoomRequest(
            case.template, case.free, case.same_wave, room_alone=not self._cases.rules(case.template)
        )
        by_number, by_name, counted = list[Group](), list[Group](), list[UncertainReplacement]()
        for cell, several in allowed.items():
            there = inside.of(cell)
            shut = sum(nodes for level, nodes in histogram[cell] if level not in several)
            least = known = len(there)
            if shut and len(there):
                # An uncertain replacement that counts may exceed maxSkew on its node, and so close that node.
                coupled_moves = [
                    uncertain
                    for uncertain in self.coupled_moves(case, coupled)
                    if uncertain.nodes[there].any()
                ]
                if inside.levels is None:
                    inside.levels = self.levels(coupled, [case.move])
                known = max(0, _known_open(coupled, inside.levels[:, there], several) - len(coupled_moves))
                least = max(known, len(there) - shut)
                counted += coupled_moves
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
        levels = self.levels(coupled, [case.move]) if inside.levels is None else inside.levels
        headroom = coupled.headroom(histogram, leaving, nodes, levels)
        return self._room.has_places(need, nodes, headroom, self.coupled_moves(case, coupled))

    def coupled_moves(self, case: Replacement, coupled: CoupledConstraints) -> list[UncertainReplacement]:
        """The uncertain replacements that change counts of these coupled constraints."""
        same_wave = [one for one in case.same_wave if one.template in coupled.templates]
        return self._room.of(coupled.templates) + same_wave

    def levels(self, coupled: CoupledConstraints, gone: Iterable[Move]) -> Codes:
        """The counted pods on every node for certain, after the pods of some moves have left."""
        away = [(uncertain.template, uncertain.node) for uncertain in self._room.of(coupled.templates)]
        return coupled.levels((*away, *((self._trial.template(move.pod), move.source) for move in gone)))

    def unsure(self, case: Replacement, coupled: CoupledConstraints) -> Mask:
        """The nodes that may hold more counted pods than is known for certain."""
        found = np.zeros_like(case.may)
        for uncertain in self.coupled_moves(case, coupled):
            found |= uncertain.nodes
            if uncertain.node < 0:
                found[uncertain.source] = True
        return found


def _known_open(coupled: CoupledConstraints, levels: Codes, several: Collection[NodeCounts]) -> int:
    """How many nodes are at one of these levels, not counting uncertain replacements."""
    if not coupled.by_node:
        return int(levels.shape[1])
    found = np.zeros(levels.shape[1], np.bool_)
    for level in several:
        found |= (levels == np.array(level, np.int64)[:, np.newaxis]).all(axis=0)
    return int(found.sum())
