"""Which nodes of a layout may go so that no more pods than now are left over when a domain is lost.

A search knows room in sum alone (`loss_room`); in the simulation pods do not fit as they come, or constraints
keep them from where room is.  So nodes are given back that have the room which is lacking, until none is, and
each of them is tried once more without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models import Cluster
from planner.consolidate.layout import Layout
from planner.consolidate.loss import DomainLosses
from planner.consolidate.setting import Setting
from planner.problem.nodes import Mask
from planner.proof import consolidation_effort as effort
from planner.proof.meter import Meter

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SurvivingNodes:
    """Gives nodes of layouts back, as few as may be."""

    setting: Setting
    losses: DomainLosses
    meter: Meter

    def removed(self, layout: Layout) -> Mask:
        """The nodes that may go; where the work does not go to the end more may have to be given back."""
        removed, given_back, times = layout.removed.copy(), list[int](), 1
        work = self.meter.step(effort.SURVIVAL_WORK)
        while self._may_be_tried(work):
            lacking = self._lacking(self.setting.end(layout, removed))
            if not lacking:
                return self._tried_without(layout, removed, given_back, work)
            more = self._with_room(removed, {domain: times * need for domain, need in lacking.items()})
            if not more:
                break
            removed[more] = False
            given_back += more
            times += 1
        return removed

    def given_back(self, end: Cluster, removed: Mask) -> list[int]:
        """Nodes to give back after waves that end so; none where trials are too much work."""
        if not self._may_be_tried(self.meter.step(effort.SURVIVAL_WORK)):
            return []
        return self._with_room(removed, self._lacking(end))

    def _may_be_tried(self, work: Meter) -> bool:
        """Whether the work is enough for one more trial, which is spent."""
        price = effort.PRICE_OF_LOSS * len(self.setting.problem.pods) * len(self.losses.of_domain)
        if not self.losses.complete or work.over() or work.left() < price:
            return False
        work.spend(price)
        return True

    def _lacking(self, end: Cluster) -> dict[str, _Floats]:
        """By domain whose loss leaves more pods over than now what these request, of each resource."""
        resources, lacking = self.setting.problem.resources, self.losses.lacking(end, self.meter.over)
        return {
            domain: np.array([more.get(name, 0) for name in resources], np.float64)
            for domain, more in lacking.items()
        }

    def _with_room(self, removed: Mask, lacking: Mapping[str, _Floats]) -> list[int]:
        """Nodes outside of domains with room for what each lacks, the cheapest for it, then the fullest."""
        problem, prices = self.setting.problem, self.setting.removable.prices
        column, room = problem.nodes.column(self.losses.key), problem.allocatable.T.astype(np.float64)
        filled = (self.setting.trial.state.used / np.maximum(problem.allocatable, 1)).max(axis=0)
        outside = np.array([column.codes != column.code_of.get(domain) for domain in lacking])
        needs, left, found = np.array([*lacking.values()]), removed.copy(), list[int]()
        while len(needs):
            value = np.where(outside & left, _covered(room, needs), 0.0).sum(axis=0)
            price = np.divide(prices, value, out=np.full(len(value), np.inf), where=value > 0)
            best = int(np.lexsort((-filled, price))[0])
            if not value[best]:
                break
            found.append(best)
            left[best] = False
            needs = needs - outside[:, [best]] * room[best]
            lacks = (needs > 0).any(axis=1)
            needs, outside = needs[lacks], outside[lacks]
        return found

    def _tried_without(self, layout: Layout, removed: Mask, given_back: Sequence[int], work: Meter) -> Mask:
        """The nodes that go, with those given back that need not be, the dearest first."""
        prices = self.setting.removable.prices
        for node in sorted(given_back, key=lambda node: -int(prices[node])):
            if not self._may_be_tried(work):
                break
            removed[node] = True
            removed[node] = not self.losses.why_worse(self.setting.end(layout, removed), self.meter.over)
        return removed


def _covered(room: _Floats, needs: _Floats) -> _Floats:
    """What part of each need each node has room for, of the resource of which that is the least."""
    asked = needs[:, np.newaxis] > 0
    part = np.divide(room, needs[:, np.newaxis], out=np.ones((len(needs), *room.shape)), where=asked)
    least: _Floats = np.minimum(part, 1.0).min(axis=2)
    return least
