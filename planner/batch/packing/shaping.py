"""The shape of a batch, once all is placed: quotas of all with less room, as long as they come out.

For `--prefer pack` on fewer nodes: a model over cells says how many of each cell do, and which pods come to
them.  50,000 pods that half fill 5,000 nodes come to 2,282, where no plan has fewer than 2,158; and to all
without.  For `--prefer spread` on nodes less full: of 100 that 1,000 pods fill by half the fullest is 54 %
full, and 68 without.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.audit.summary import occupied
from planner.batch.coarse import Coarse
from planner.batch.goals import FullestNode, NodesUsed, SoftGoal
from planner.batch.incumbent import Incumbent
from planner.batch.pending import Pending
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement


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
