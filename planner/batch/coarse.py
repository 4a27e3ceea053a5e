"""A large batch solved over cells of nodes, whose quotas are dealt out to nodes.

At full room the model is a relaxation: what it places no plan exceeds.  Tightly packed cells do not
work out node by node, so less full ones are tried until all that the bound promises has a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from planner.batch.assignment import Assignment
from planner.batch.incumbent import Incumbent, Proof
from planner.batch.pending import Pending
from planner.cells import Cells
from planner.clock import Clock
from planner.order import Orderer, Placement

#: Up to so many pairs of a template and a cell the nodes are told apart.
_MOST_PAIRS = 40_000
#: How full cells may become, one try after the other.
_FULLNESS = (1.0, 0.97, 0.93, 0.9)
#: The most work on one stage of a model, in the solver's own seconds.
_EFFORT = 3.0


class Coarse:
    """Models over cells, and plans made from what they find."""

    def __init__(self, pending: Pending, orderer: Orderer, clock: Clock) -> None:
        self._pending = pending
        self._orderer = orderer
        self._clock = clock
        self._room = pending.room(pending.wanted)
        most = _MOST_PAIRS // max(1, len(pending.pods))
        self._cells = Cells.alike(pending.problem.nodes.size, self._traits(), most)

    def _traits(self) -> Iterator[NDArray[Any]]:
        """What tells nodes apart: what rules look at first, then who may come, then what they offer."""
        for filters, templates in self._pending.profiles():
            for plugin in filters:
                for number in templates:
                    yield from plugin.tells_apart(self._pending.template(number))
        yield from self._pending.settled.values()
        yield from self._pending.problem.allocatable

    def run(self, best: Incumbent) -> None:
        """Offer plans until one places all that any could."""
        for fullness in _FULLNESS:
            if best.all_placed() or self._clock.over():
                return
            quotas = self._quotas(best, fullness)
            if quotas is None:
                return
            placement = Assignment(self._pending, self._cells, self._room).deal(quotas)
            steps = self._orderer.follow([placement], self._pending.pods)
            best.offer(self._orderer.extend(steps, self._pending.pods))

    def _quotas(self, best: Incumbent, fullness: float) -> Placement | None:
        """How many pods of each template go to each cell."""
        from planner.cpsat.model import Model
        from planner.cpsat.variables import Batch

        pending = self._pending
        batch = Batch(pending.problem, pending.wanted, self._room, cells=self._cells)
        model = Model(batch, pending.profiles(), fullness=fullness)
        found = model.solve(model.pods_placed(_EFFORT), None, self._clock)
        if found is None:
            return None
        if fullness == 1.0:
            best.learn(Proof(found.values, found.bounds))
        return found.phases[0]
