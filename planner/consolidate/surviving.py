"""Which nodes of a layout may go so that no more pods than now are left over when a domain is lost.

A search knows room in sum alone (`loss_room`); in the simulation pods do not fit as they come, or constraints
keep them from where room is.  So nodes are given back that have the room which is lacking, until none is, and
each of them is tried once more without.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models import Cluster
from planner.consolidate.layout import Layout, filled
from planner.consolidate.loss import NO_DOMAIN, DomainLosses
from planner.consolidate.setting import Setting
from planner.problem.nodes import Mask
from planner.proof import consolidation_effort as effort
from planner.proof.meter import Meter

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SurvivedLoss:
    """Nodes that may go, and by node given back why it has to stay, where it alone was tried."""

    removed: Mask
    needed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SurvivingNodes:
    """Gives nodes of layouts back, as few as may be."""

    setting: Setting
    losses: DomainLosses
    meter: Meter

    def removed(self, layout: Layout) -> SurvivedLoss:
        """The nodes that may go; where the work does not go to the end more may have to be given back."""
        removed, work = layout.removed.copy(), self._work()
        first = self._of_last_domain(removed)
        given_back, more, times, among = [*first], list[int](), 1, {*self.losses.of_domain}
        removed[first] = False
        while self._may_be_tried(work, len(among)):
            lacking = self._lacking(self.setting.end(layout, removed), among)
            if not lacking:
                return self._with_fewer(layout, removed, given_back, len(more), work)
            # More room harms no other domain.
            among = among & lacking.keys()
            if work.left() < self.losses.work(len(among)):
                times *= effort.SURVIVAL_GROWTH
            more = self._with_room(removed, {domain: times * need for domain, need in lacking.items()})
            if not more:
                break
            removed[more] = False
            given_back += more
            times *= effort.SURVIVAL_GROWTH
        return SurvivedLoss(removed, {node: NO_DOMAIN for node in first})

    def _of_last_domain(self, removed: Mask) -> list[int]:
        """The cheapest node of a domain where only nodes of none would stay: no loss could be asked about."""
        inside = self.setting.problem.nodes.column(self.losses.key).present
        if not removed.any() or removed.all() or (inside & ~removed).any():
            return []
        return [int(np.where(inside, self.setting.removable.prices, np.iinfo(np.int64).max).argmin())]

    def given_back(self, end: Cluster, removed: Mask) -> list[int]:
        """Nodes to give back after waves that end so; none where trials are too much work."""
        domains = self.losses.of_domain.keys()
        if not self._may_be_tried(self._work(), len(domains)):
            return []
        return self._with_room(removed, self._lacking(end, domains))

    def _work(self) -> Meter:
        """The work on one layout: it is enough for one trial of all domains."""
        return self.meter.step(max(effort.SURVIVAL_WORK, self.losses.work(len(self.losses.of_domain))))

    def _may_be_tried(self, work: Meter, domains: int) -> bool:
        """Whether the work is enough for one more trial of so many domains, which is spent."""
        price = self.losses.work(domains)
        if not self.losses.complete or work.over() or work.left() < price:
            return False
        work.spend(price)
        return True

    def _lacking(self, end: Cluster, among: Collection[str]) -> dict[str, _Floats]:
        """By domain whose loss leaves more pods over than now what these request, of each resource."""
        resources, lacking = self.setting.problem.resources, self.losses.lacking(end, among, self.meter.over)
        return {
            domain: np.array([more.get(name, 0) for name in resources], np.float64)
            for domain, more in lacking.items()
        }

    def _with_room(self, removed: Mask, lacking: Mapping[str, _Floats]) -> list[int]:
        """Nodes outside of domains with room for what each lacks, the cheapest for it, then the fullest."""
        problem, prices = self.setting.problem, self.setting.removable.prices
        column, room = problem.nodes.column(self.losses.key), problem.allocatable.T.astype(np.float64)
        load = filled(self.setting.trial.state)
        outside = np.array([column.codes != column.code_of.get(domain) for domain in lacking])
        needs, left, found = np.array([*lacking.values()]), removed.copy(), list[int]()
        while len(needs):
            value = np.where(outside & left, _covered(room, needs), 0.0).sum(axis=0)
            price = np.divide(prices, value, out=np.full(len(value), np.inf), where=value > 0)
            best = int(np.lexsort((-load, price))[0])
            if not value[best]:
                break
            found.append(best)
            left[best] = False
            needs = needs - outside[:, [best]] * room[best]
            lacks = (needs > 0).any(axis=1)
            needs, outside = needs[lacks], outside[lacks]
        return found

    def _with_fewer(
        self, layout: Layout, removed: Mask, given_back: Sequence[int], last: int, work: Meter
    ) -> SurvivedLoss:
        """The same without nodes given back that need not be: of the last ones by halves, then one by one."""
        enough, too_few = len(given_back), len(given_back) - last
        while enough - too_few > 1 and self._may_be_tried(work, len(self.losses.of_domain)):
            half = (enough + too_few) // 2
            if self._why_worse(layout, removed, given_back[half:]):
                too_few = half
            else:
                enough = half
        removed[given_back[enough:]] = True
        prices, needed = self.setting.removable.prices, dict[int, str]()
        for node in sorted(given_back[:enough], key=lambda node: -int(prices[node])):
            if not self._may_be_tried(work, len(self.losses.of_domain)):
                break
            needed[node] = self._why_worse(layout, removed, [node])
            removed[node] = not needed[node]
        return SurvivedLoss(removed, needed)

    def _why_worse(self, layout: Layout, removed: Mask, more: Sequence[int]) -> str:
        """Why more pods than now may be left when more nodes go; or nothing."""
        all_of_them = removed.copy()
        all_of_them[more] = True
        return self.losses.why_worse(self.setting.end(layout, all_of_them), self.meter.over)


def _covered(room: _Floats, needs: _Floats) -> _Floats:
    """What part of each need each node has room for, of the resource of which that is the least."""
    asked = needs[:, np.newaxis] > 0
    part = np.divide(room, needs[:, np.newaxis], out=np.ones((len(needs), *room.shape)), where=asked)
    least: _Floats = np.minimum(part, 1.0).min(axis=2)
    return least
