"""Which nodes go when nothing but evictions leads there: sets of nodes judged by what kube-scheduler does.

The pods of all nodes that go are evicted one after the other, the largest first, and each replacement lands
on the one node that scores put first; one without such a node waits for the others.  So the outcome of a set
and an order is known, and sets are tried from the snapshot's layout again and again.  Which set is safe in
waves is found out afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.layout import Layout, Limits, read, shares
from planner.consolidate.removable import Removable
from planner.moves.constraint_counts import excesses, worse
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Mask
from planner.proof import effort
from planner.proof.meter import Meter


@dataclass(frozen=True, slots=True)
class Evicted:
    """The layout that evictions lead to, and the order in which they are tried."""

    layout: Layout
    order: Sequence[int]


class EvictionSearch:
    """Looks for the cheapest set of nodes that evictions empty, on a trial cluster as it is now."""

    def __init__(
        self, trial: TrialCluster, movable: Movable, removable: Removable, limits: Limits, meter: Meter
    ) -> None:
        self._trial = trial
        self._movable = movable
        self._removable = removable
        self._limits = limits
        self._meter = meter
        self._moves = movable.weights > 0
        self._size = shares(trial.problem)[trial.problem.template_of]
        self._hard = [found for found in trial.ledger.constraints if found.hard]
        self._draw = np.random.default_rng(1)

    def run(self, starts: Iterable[Mask]) -> Evicted | None:
        """The cheapest set that was found, from some to begin with; None when there is none."""
        best: Evicted | None = None
        for start in starts:
            best = self._better(start, best, effort.EVICTION_REPAIRS)
        while best is not None and not self._meter.over():
            # A set that does not pay costs something, too: where none does only the clock would end this.
            self._meter.spend(effort.PRICE_OF_EVICTION)
            best = self._better(self._changed(best.layout.removed), best, effort.EVICTION_REPAIRS_AFTER)
        return best

    def _better(self, removed: Mask, best: Evicted | None, repairs: int) -> Evicted | None:
        """What a set leads to where that is at most as dear as the best; nodes may be given back."""
        removed = removed.copy()
        size = self._size * self._draw.uniform(0.8, 1.25, len(self._size)) if best else self._size
        for _ in range(repairs):
            if self._meter.over() or not self._pays(removed, best):
                return best
            found, stuck = self._carried_out(removed, size)
            if found is not None:
                return found
            if not stuck:
                return best
            removed[self._draw.choice(stuck, (len(stuck) + 1) // 2, replace=False)] = False
        return best

    def _pays(self, removed: Mask, best: Evicted | None) -> bool:
        reserve, most = self._limits.reserve, self._limits.most_moves
        if reserve is not None and (reserve.brings[:, removed].sum(axis=1) > reserve.spare).any():
            return False
        if most is not None and len(self._pods(removed)) > most:
            return False
        if best is None:
            return True
        cost, other = self._removable.cost(removed), self._removable.cost(best.layout.removed)
        return cost <= other and bool((removed != best.layout.removed).any())

    def _pods(self, removed: Mask) -> list[int]:
        on = self._trial.state.pods_on
        return [pod for node in np.flatnonzero(removed).tolist() for pod in on[node] if self._moves[pod]]

    def _changed(self, removed: Mask) -> Mask:
        """Some nodes that go stay, and some that stay go."""
        found = removed.copy()
        gone = np.flatnonzero(removed)
        stays = np.flatnonzero(self._removable.mask & ~removed)
        back, more = self._draw.integers(0, 4), self._draw.integers(1, 4)
        found[self._draw.choice(gone, min(int(back), len(gone)), replace=False)] = False
        found[self._draw.choice(stays, min(int(more), len(stays)), replace=False)] = True
        return found

    def _carried_out(self, removed: Mask, size: NDArray[np.float64]) -> tuple[Evicted | None, list[int]]:
        """What a set leads to, or the nodes whose pods have no certain place."""
        trial, closed = self._trial, np.flatnonzero(removed).tolist()
        mark, before = trial.state.mark(), excesses(self._hard)
        order = sorted(self._pods(removed), key=lambda pod: (-float(size[pod]), trial.template(pod)))
        left = order
        while left:
            waiting = self._once_through(left, closed)
            if len(waiting) == len(left) or self._meter.over():
                break
            left = waiting
        stuck = sorted({int(trial.state.node_of[pod]) for pod in left})
        found = None
        if not left and not worse(before, self._hard):
            found = Evicted(read(trial, self._movable, removed), order)
        trial.state.rollback(mark)
        return found, stuck

    def _once_through(self, pods: Sequence[int], closed: Sequence[int]) -> list[int]:
        """Evict pods in order; returns those whose replacement has no certain place yet."""
        trial, waiting, refused = self._trial, list[int](), set[tuple[int, int]]()
        self._meter.spend(effort.PRICE_OF_EVICTION * len(pods))
        for pod in pods:
            template, source = trial.template(pod), int(trial.state.node_of[pod])
            if (template, source) in refused or not self._evicted(pod, template, closed):
                refused.add((template, source))
                waiting.append(pod)
        return waiting

    def _evicted(self, pod: int, template: int, closed: Sequence[int]) -> bool:
        """Whether a replacement lands on the one best node; else nothing has changed."""
        trial, mark = self._trial, self._trial.state.mark()
        touched = trial.ledger.touched((template,))
        before = excesses(touched)
        trial.state.unbind(pod)
        feasible, totals = trial.choice(template, closed)
        if feasible.count:
            best = feasible.best(totals)
            if int(np.count_nonzero(feasible.mask & (totals == totals[best]))) == 1:
                trial.state.bind(pod, best)
                if not worse(before, touched):
                    return True
        trial.state.rollback(mark)
        return False
