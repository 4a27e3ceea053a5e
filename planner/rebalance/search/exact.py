"""Better moves from models of all nodes, each a solution of the solver brought into an order that holds."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING

from planner.cpsat.region import Region
from planner.proof import effort
from planner.proof.bounds import Assumption
from planner.rebalance.lower_bounds import chained, proved_by
from planner.rebalance.search.evaluation import Evaluator, Found
from planner.rebalance.search.move_order import Key, MoveOrder
from planner.rebalance.search.regions import Regions

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift


class _ModelVariant(IntEnum):
    """What a model of all nodes requires of moves; each variant requires more than the one before."""

    #: A final state within all bounds.
    ENDS = 0
    #: Pods come only to domains that stay within bounds.
    COMES = 1
    #: No pod leaves where none can be spared for a while, neither before all moves nor after them.
    SPARED = 2


#: The assumptions under which the bounds of a model hold for all moves; bounds of other models are not used.
_ASSUMES = {_ModelVariant.ENDS: (), _ModelVariant.COMES: (Assumption.NOTHING_WORSE,)}


class ModelOfAllNodes:
    """The neighbourhood of all moves that lead to a solution of a model, the least strict model first."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def improve(self, best: Found) -> Found:
        """Better moves than the best so far, if the solver finds any; it keeps the bounds that are proved."""
        it = self._evaluator
        region, tried = Regions(it).exact(), [best]
        for variant in _ModelVariant:
            shift = self._shift(region, variant)
            if shift is None:
                continue
            if variant in _ASSUMES:
                bounds = proved_by(shift, it.stages)
                it.learn(chained(it.stages, bounds, "a model of all nodes", *_ASSUMES[variant]))
            found = self._following(region, shift)
            # Of equally good moves the ones from the stricter model.
            tried.insert(1, found)
            best = it.best(tried)
            done = all(found[1][name] == value for name, value in shift.values.items())
            if done or not it.is_open(best) or it.meter.over():
                break
        return best

    def _shift(self, region: Region, variant: _ModelVariant) -> Shift | None:
        """The best solution of the solver: first with the excess fixed at its lower bound."""
        from planner.cpsat.moves import MoveModel

        it = self._evaluator
        excess, work = it.floor["hardExcess"], effort.EXACT_REGION_WORK
        returning = variant is _ModelVariant.SPARED
        make = partial(MoveModel, region, arriving=variant > _ModelVariant.ENDS, returning=returning)
        if it.most is None:
            model = make(hard_excess=excess)
            shift = model.solve(it.stages[1:], it.meter.part(work), work)
            if shift is not None:
                known = {"hardExcess": excess}
                return replace(shift, values={**known, **shift.values}, bounds={**known, **shift.bounds})
        return make(most_moves=it.most).solve(it.stages, it.meter.part(work), work)

    def _following(self, region: Region, shift: Shift) -> Found:
        """The best moves from a solution; moves left over come first in the next attempt."""
        it = self._evaluator
        found: list[Found] = []
        first: dict[Key, int] = {}
        for attempt in range(effort.SEQUENCES_OF_MOVES):
            it.set()
            order = MoveOrder(it.trial, it.movable, shift, first)
            found.append(it.of(order.run(it.meter.over)))
            if not order.left or it.meter.over():
                break
            first |= dict.fromkeys(order.left, attempt)
        it.set()
        return it.best(found)
