"""A large batch solved over cells of nodes, whose quotas are distributed over nodes.

Where there is room to spare no model is needed: quotas that keep domains level and cells equally full place
all pods.  Else a model finds them.  At full room it is a relaxation: what it places no plan exceeds.  Tightly
packed cells do not work out node by node, so less full ones are tried that hold all that the bound promises.
Where none does, more of what a less full one holds may come to have a node.  What is left over is left to
`neighbourhood_search.py`.  ScheduleAnyway constraints are first taken for hard ones: when all is placed all
the same, nothing could be better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.batch.goals import SoftGoal, SpreadExcess
from planner.batch.incumbent import Incumbent, Proof
from planner.batch.packing.assignment import Assignment
from planner.batch.packing.level_quotas import LevelQuotas
from planner.batch.pending import Pending
from planner.constraints.pod_topology_spread import require_even
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Ints
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement, Step

if TYPE_CHECKING:
    from planner.cpsat.model import BatchModel
    from planner.cpsat.variables import Counts


class Coarse:
    """Models over cells, and plans made from what they find."""

    def __init__(
        self,
        pending: Pending,
        orderer: Orderer,
        meter: Meter,
    ) -> None:
        self._pending = pending
        self._orderer = orderer
        self._meter = meter
        #: The most pods of every template that each node could take.
        self.room = pending.room(pending.wanted)
        self._effort = meter.effort.cells
        most, nodes = self._effort.pairs // max(1, len(pending.pods)), pending.problem.nodes.size
        self.cells = NodeGroups.alike(nodes, pending.traits(), most, self._effort.least_alike)
        self._soft = SpreadExcess(pending).rules
        #: Cells only so full do not hold the pods that are promised.
        self._too_empty = 0.0

    def offer_level(self, best: Incumbent) -> None:
        """Offer a plan of all pods, if one is found without a model."""
        if (placement := self.level(best)) is not None:
            best.offer(self._orderer.follow([placement], self._pending.pods))

    def level(self, best: Incumbent, free: Ints | None = None) -> Placement | None:
        """All pods by node, if that is found without a model; they take no more than is free, if given."""
        level = LevelQuotas(self._pending, self.cells, self.room, self._soft, free)
        quotas = level.quotas(self._meter)
        if quotas is None or not best.promises(quotas):
            return None
        placement = Assignment(self._pending, self.cells, self.room, free).distribute(quotas)
        return placement if best.promises(placement) else None

    def learn_shape(self, best: Incumbent, shape: SoftGoal) -> None:
        """Take note of what the last stage is at best with all placed, whatever the softer ones before it."""
        from planner.cpsat.model import Goal

        model, pods = self._model(1.0), best.pods()
        model.exactly(pods)
        bound = model.bound(Goal(shape.name, shape.express(model.counts), shape.largest), self._meter)
        values = {**pods, shape.name: best.shape_value()}
        best.learn(Proof(values, {**pods, shape.name: bound}, "the linear relaxation over cells of nodes"))

    def quotas(self, best: Incumbent, shape: SoftGoal, fullness: float) -> tuple[Counts, Placement] | None:
        """All pods by cell, near to a shape and else no worse than the best plan, where cells are so full."""
        from planner.cpsat.model import Goal

        model = self._model(fullness)
        model.exactly(best.pods())
        best.keep(model.counts)
        goal = Goal(shape.name, shape.express(model.counts), shape.largest, self._effort.shape_work)
        quotas = model.rounded(goal, self._meter)
        found = model.solve([goal], quotas, self._meter)
        if found is not None:
            quotas = found.phases[0]
        return None if quotas is None else (model.counts, quotas)

    def distributed(self, quotas: Placement, room: Mapping[int, Ints]) -> Counter[Step]:
        """Quotas by node, as many pods as found a place in the room that is left."""
        return Assignment(self._pending, self.cells, room).distribute(quotas)

    def offer_modelled(self, best: Incumbent) -> None:
        """Offer the best plan that quotas of a model lead to."""
        for even in [True, False] if self._soft else [False]:
            if placement := self._make(best, even=even):
                placement = self._less_full(placement, best, even=even)
                steps = self._orderer.follow([placement], self._pending.pods)
                best.offer(self._orderer.extend(steps, self._pending.pods))
                return

    def _make(self, best: Incumbent, *, even: bool) -> Counter[Step] | None:
        """The pods by node, as many as were found a node; None when nothing promises much.

        With soft constraints taken for hard ones only quotas of all that could be placed are any good.
        """
        made: Counter[Step] | None = None
        for fullness in self._effort.fullness:
            if fullness <= self._too_empty:
                continue
            if self._meter.over():
                break
            model = self._model(fullness)
            if fullness < 1.0 and model.pods_bound(self._meter) < sum(best.bounds()):
                self._too_empty = fullness
                continue
            solved = self._solve(model, self._effort.quotas_work, even=even)
            if solved is None:
                break
            quotas, proof = solved
            promising = best.promises(quotas)
            if fullness == 1.0 and (promising or not even):
                best.learn(proof)
            elif not promising:
                continue
            made = self._most(made, quotas)
            if best.promises(made):
                return made
        return made

    def _less_full(self, made: Counter[Step], best: Incumbent, *, even: bool) -> Counter[Step]:
        """What is made, or more that comes of cells that cannot hold all, which were not tried so far."""
        for fullness in self._effort.starts:
            if best.promises(made) or fullness > self._too_empty or self._meter.over():
                continue
            model = self._model(fullness)
            if model.pods_bound(self._meter) > sum(made.values()):
                solved = self._solve(model, self._effort.start_work, even=even)
                made = made if solved is None else self._most(made, solved[0])
        return made

    def _most(self, made: Counter[Step] | None, quotas: Placement) -> Counter[Step]:
        """The pods by node that quotas lead to, or what is made already, where that is as much."""
        found = Assignment(self._pending, self.cells, self.room).distribute(quotas)
        return found if made is None else max(made, found, key=self._pending.placed)

    def _model(self, fullness: float) -> BatchModel:
        from planner.cpsat.model import BatchModel
        from planner.cpsat.variables import Batch

        pending = self._pending
        batch = Batch(pending.problem, pending.wanted, self.room, cells=self.cells)
        return BatchModel(batch, pending.profiles(), fullness=fullness)

    def _solve(self, model: BatchModel, work: float, *, even: bool) -> tuple[Placement, Proof] | None:
        """How many pods of each template go to each cell; `even` takes soft constraints for hard ones."""
        if even:
            require_even(model.counts, self._soft)
        goals, found = model.pods_placed(work), None
        if len(self._pending.wanted) >= self._effort.linear_templates:
            found = model.solve_linear(goals, self._meter)
        found = found or model.solve(goals, None, self._meter)
        if found is None:
            return None
        return found.phases[0], Proof(found.values, found.bounds, "the model over cells of nodes")
