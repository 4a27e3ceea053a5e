"""The shape of a batch, once all is placed: quotas of all with less room, as long as they come out.

For `--prefer pack` on fewer nodes: a model over cells says how many of each cell do, and which pods come to
them.  50,000 pods that half fill 5,000 nodes come to 2,282, where no plan has fewer than 2,158; and to all
without.  For `--prefer spread` on nodes less full: of 100 that 1,000 pods fill by half the fullest is 54 %
full, and 68 without.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from planner.audit.summary import occupied
from planner.batch.coarse import Coarse
from planner.batch.goals import FullestNode, NodesUsed, SoftGoal
from planner.batch.incumbent import Incumbent
from planner.batch.pending import Pending
from planner.problem.nodes import Mask
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement, Step


class Shaping:
    """What brings a plan of all pods nearer to a shape."""

    def __init__(
        self, pending: Pending, orderer: Orderer, meter: Meter, best: Incumbent, coarse: Coarse
    ) -> None:
        self._pending = pending
        self._orderer = orderer
        self._meter = meter
        self._best = best
        self._coarse = coarse

    def improve(self, shape: SoftGoal) -> None:
        """Take note of what it is at best, and offer plans that come nearer to it."""
        if self._meter.over():
            return
        self._coarse.learn_shape(self._best, shape)
        if self._best.perfect():
            return
        match shape:
            case NodesUsed():
                self._use_fewer_nodes(shape)
            case FullestNode():
                self._fill_nodes_less(shape)

    def near(self, usual: Sequence[Step], shape: SoftGoal) -> Sequence[Step]:
        """The start of a plan of all pods near one that leaves some over: most nodes keep what they have."""
        effort = self._meter.effort.cells
        found = self._coarse.quotas(self._best, shape, effort.near_fullness)
        if found is None:
            return usual
        placement = self._near(usual, found[1], self._roomiest(usual, effort.near_part))
        steps = self._orderer.follow([placement], self._pending.pods)
        steps = self._orderer.extend(steps, self._pending.pods)
        self._best.offer(steps)
        return steps

    def _near(self, usual: Sequence[Step], quotas: Placement, anew: Mask) -> Placement:
        """Quotas by node: as in a plan, but on some nodes anew, as many pods as find a place."""
        coarse, placement, left = self._coarse, Counter[Step](), Counter(quotas)
        free = self._pending.free_room()
        room = {number: most.copy() for number, most in coarse.room.items()}
        for (number, node), pods in Counter(usual).items():
            cell = int(coarse.cells.of[node])
            kept = 0 if anew[node] else min(pods, left[number, cell])
            if kept:
                placement[number, node] = kept
                left[number, cell] -= kept
                room[number][node] -= kept
                free[:, node] -= kept * self._pending.template(number).requests
        return placement + coarse.distributed(+left, room, free)

    def _roomiest(self, steps: Sequence[Step], part: float) -> Mask:
        """A part of the nodes of each cell, those on which some binds leave the largest part of the room."""
        room, templates = self._pending.free_room(), self._pending.problem.templates
        left, requests = room.copy(), np.array([template.requests for template in templates])
        numbers, nodes = np.array(steps, np.intp).reshape(-1, 2).T
        np.subtract.at(left.T, nodes, requests[numbers])
        emptiness = np.where(room > 0, left / np.maximum(room, 1), 1.0).min(axis=0)
        chosen = np.zeros(len(emptiness), np.bool_)
        for cell in self._coarse.cells.members():
            chosen[cell[np.argsort(-emptiness[cell], kind="stable")[: math.ceil(part * len(cell))]]] = True
        return chosen

    def _use_fewer_nodes(self, shape: NodesUsed) -> None:
        """On nodes as full as pods come out on them."""
        packed = self._meter.effort.cells.packed
        self._offer_least(0, len(packed), lambda number: self._on_fewer_nodes(shape, packed[number]))

    def _on_fewer_nodes(self, shape: NodesUsed, fullness: float) -> Placement | None:
        """All pods by node, on the fewest nodes that a model of cells so full finds; None if that fails."""
        found = self._coarse.quotas(self._best, shape, fullness)
        if found is None:
            return None
        chosen = occupied(self._pending.state) | shape.more(*found)
        room = {number: most * chosen for number, most in self._coarse.room.items()}
        placement = self._coarse.distributed(found[1], room)
        return placement if self._best.promises(placement) else None

    def _fill_nodes_less(self, shape: FullestNode) -> None:
        self._offer_least(
            shape.bound_of_all(),
            min(self._best.shape_value(), 100),
            lambda percent: self._coarse.level(self._best, shape.free(percent)),
        )

    def _offer_least(self, least: int, most: int, arrange: Callable[[int], Placement | None]) -> None:
        """Offer the arrangement with the least of which there is one, found by halves, that is better."""
        found: list[Placement] = []
        while least < most and not self._meter.over():
            middle = (least + most) // 2
            placement = arrange(middle)
            if placement is None:
                least = middle + 1
            else:
                most = middle
                found.append(placement)
        while found and not self._offer(found.pop()):
            pass

    def _offer(self, placement: Placement) -> bool:
        """Whether a placement has an order and is better than what is known."""
        steps = self._orderer.follow([placement], self._pending.pods)
        self._best.offer(steps)
        return self._best.steps is steps
