"""Which nodes go when nothing but evictions leads there: sets of nodes judged by what kube-scheduler does.

The pods of all nodes that go are evicted one after the other, the largest first, and each replacement lands
where scores put it.  So the outcomes of a set and an order are known, and sets are tried from the snapshot's
layout again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.eviction_sequence import EvictionSequence
from planner.consolidate.layout import Limits, shares
from planner.consolidate.removable import Removable
from planner.moves.constraint_counts import excesses, worse
from planner.moves.movable import Movable
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Mask
from planner.proof import effort
from planner.proof.meter import Meter


@dataclass(frozen=True, slots=True)
class Evicted:
    """Nodes that are closed, those of them that end empty, and the pods that move, one after the other."""

    closed: Mask
    removed: Mask
    order: Sequence[int]
    by_node: bool = True


class EvictionSearch:
    """Looks for the cheapest set of nodes that evictions empty, on a trial cluster as it is now."""

    def __init__(
        self, trial: TrialCluster, movable: Movable, removable: Removable, limits: Limits, meter: Meter
    ) -> None:
        self._timeline = EvictionTimeline.of_all(trial, np.flatnonzero(movable.weights).tolist())
        self._movable = movable
        self._removable = removable
        self._limits = limits
        self._meter = meter
        self._moves = movable.weights > 0
        self._template_of = trial.problem.template_of
        self._size = shares(trial.problem)[self._template_of]
        self._hard = [found for found in self._timeline.trial.ledger.constraints if found.hard]
        self._draw = np.random.default_rng(1)

    def run(self, starts: Sequence[Mask]) -> Evicted:
        """The cheapest set that was found, from some to begin with; none is looked for below their costs."""
        nothing = self._timeline.problem.nodes.none
        best = Evicted(nothing, nothing, ())
        least = min(map(self._removable.cost, starts))
        for start, by_node in product(starts, (True, False)):
            best = self._better(start, best, effort.EVICTION_REPAIRS, by_node=by_node)
        while self._removable.cost(best.removed) > least and not self._meter.over():
            # A set that does not pay costs something, too: where none does only the clock would end this.
            self._meter.spend(effort.PRICE_OF_EVICTION)
            again = self._draw.random() < effort.EVICTION_STARTS_AGAIN
            closed = starts[int(self._draw.integers(len(starts)))] if again else self._changed(best.closed)
            by_node = best.by_node != (self._draw.random() < effort.EVICTION_OTHERWISE)
            best = self._better(closed, best, effort.EVICTION_REPAIRS_AFTER, by_node=by_node)
        return best

    def _better(self, closed: Mask, best: Evicted, repairs: int, *, by_node: bool) -> Evicted:
        """What a set leads to where that is at most as dear as the best; nodes may be given back."""
        size = self._size * self._other_order() if best.order else self._size
        for _ in range(repairs):
            if self._meter.over() or not self._pays(closed, best):
                break
            found = self._carried_out(closed, size, by_node=by_node)
            best = min(found, best, key=self._key)
            stuck = np.flatnonzero(closed & ~found.removed)
            if not stuck.size:
                break
            closed = closed.copy()
            closed[self._draw.choice(stuck, (len(stuck) + 1) // 2, replace=False)] = False
        return best

    def _other_order(self) -> NDArray[np.float64]:
        """Factors for the sizes of pods: some orders are nearly that by size, others are any."""
        templates, pods = self._draw.exponential(effort.EVICTION_ORDER_WIDTHS)
        alike = self._draw.uniform(-templates, templates, int(self._template_of.max()) + 1)
        return np.exp(alike[self._template_of] + self._draw.uniform(-pods, pods, len(self._size)))

    def _key(self, found: Evicted) -> tuple[int, int]:
        return self._removable.cost(found.removed), len(found.order)

    def _pays(self, closed: Mask, best: Evicted) -> bool:
        reserve, most = self._limits.reserve, self._limits.most_moves
        if reserve is not None and (reserve.brings[:, closed].sum(axis=1) > reserve.spare).any():
            return False
        if most is not None and len(self._pods(closed)) > most:
            return False
        cost, other = self._removable.cost(closed), self._removable.cost(best.removed)
        return cost <= other

    def _pods(self, removed: Mask) -> list[int]:
        on = self._timeline.trial.state.pods_on
        return [pod for node in np.flatnonzero(removed).tolist() for pod in on[node] if self._moves[pod]]

    def _changed(self, closed: Mask) -> Mask:
        """Some nodes that are closed stay, and some that stay go."""
        found = closed.copy()
        gone, stays = np.flatnonzero(closed), np.flatnonzero(self._removable.mask & ~closed)
        back, more = self._draw.integers(0, 4), self._draw.integers(1, 4)
        found[self._draw.choice(gone, min(int(back), len(gone)), replace=False)] = False
        found[self._draw.choice(stays, min(int(more), len(stays)), replace=False)] = True
        return found

    def _carried_out(self, closed: Mask, size: NDArray[np.float64], *, by_node: bool) -> Evicted:
        """What a set leads to; nodes with pods that have no place do not end empty."""
        trial = self._timeline.trial
        mark, before = trial.state.mark(), excesses(self._hard)
        order = sorted(self._pods(closed), key=lambda pod: (-float(size[pod]), trial.template(pod)))
        sequence = EvictionSequence(self._timeline, self._meter, closed, cordoned=False)
        stuck = {int(trial.state.node_of[pod]) for pod in sequence.run(order, by_node=by_node)}
        removed = closed.copy()
        removed[list(stuck) if not worse(before, self._hard) else closed] = False
        trial.state.rollback(mark)
        order = [landing.move.pod for landing in sequence.landings]
        return Evicted(closed, removed, order, by_node)
