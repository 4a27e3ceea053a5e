"""Nodes closed, and their pods placed anew, again and again: what costs no more is kept.

Every iteration takes some nodes, those that hold little more often, closes one of them, and unbinds its pods
and some of the others'.  The pods come back, the largest first, into the tightest gaps; where there is none
the node opens that costs least, closed ones and new machines alike.  An iteration takes milliseconds where
the solver takes a second.

Then pods of the layout are brought back to where they run, one after the other: fewer moves with the same
nodes.  A pod comes back where its node has room, or where one leaves that came there: that one moves in any
case.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.consolidate.greedy import NodeRemoval
from planner.consolidate.layout import Layout, filled
from planner.moves.constraint_counts import excesses, worse
from planner.problem.nodes import Codes
from planner.proof import consolidation_effort as effort


class Recreation(NodeRemoval):
    """Improves the layout that a trial cluster has; its state follows."""

    def improve(self, least_cost: int) -> Layout:
        """The cheapest layout that was found within the meter's work; the first of them has fewest moves."""
        draw = np.random.default_rng(1)
        best, layout = self._measure(), self._task.read(self.removed)
        self._most_cost = best[0]
        while not self._meter.over() and self._cost() > least_cost:
            mark, removed = self._trial.state.mark(), self.removed.copy()
            found = self._measure() if self._iterate(draw) else None
            if found is None or found > best:
                self._trial.state.rollback(mark)
                self.removed = removed
            else:
                if found[0] < best[0]:
                    layout = self._task.read(self.removed)
                best = found
                self._most_cost = best[0]
                self._trial.state.forget_history()
        return layout

    def _place_on_opened(self, pod: int) -> bool:
        """No node is opened with which the layout costs more than the best: the iteration is over then."""
        return super()._place_on_opened(pod) and self._cost() <= self._most_cost

    def _cost(self) -> int:
        return self._removable.cost(self.removed)

    def _measure(self) -> tuple[int, float]:
        """The cost, and how even the loads of the nodes are: the more uneven, the sooner one is empty."""
        kept = self._removable.mask & ~self.removed
        load = filled(self._trial.state, kept)
        return self._cost(), -float((load * load * self._removable.prices[kept]).sum())

    def _iterate(self, draw: np.random.Generator) -> bool:
        """Whether all pods that were taken off found a place by the rules."""
        first, *others = self._drawn(draw)
        closes = bool(self._removable.mask[first])
        pods = self._some_of(first, 1.0 if closes else effort.RECREATED_PART, draw)
        pods += [pod for node in others for pod in self._some_of(node, effort.RECREATED_PART, draw)]
        self._meter.spend(effort.PRICE_OF_RECREATION + effort.PRICE_OF_PLACED * len(pods))
        for pod in pods:
            self._trial.state.unbind(pod)
        self.removed[first] = closes
        noise = dict(zip(pods, draw.uniform(0.7, 1.3, len(pods)).tolist(), strict=True))
        size, template_of = self._size, self._trial.problem.template_of
        ordered = sorted(pods, key=lambda pod: -float(size[template_of[pod]]) * noise[pod])
        self._price_factor = draw.uniform(0.8, 1.2, len(self.removed))
        return self._find_places(ordered)

    def _some_of(self, node: int, part: float, draw: np.random.Generator) -> list[int]:
        """A part of the pods of a node that may move."""
        pods = self._task.movable_on(node)
        return [pod for pod, chance in zip(pods, draw.random(len(pods)), strict=True) if chance < part]

    def _drawn(self, draw: np.random.Generator) -> list[int]:
        """Some nodes, few or many; of those that may go the emptiest more often."""
        kept = np.flatnonzero(~self.removed)
        load = np.ones(len(kept))
        may_go = self._removable.mask[kept]
        load[may_go] = filled(self._trial.state, self._removable.mask & ~self.removed)
        chances = draw.random(len(kept)) ** (0.3 + load)
        number = int(draw.integers(2, min(len(kept), effort.RECREATED_NODES) + 1)) if len(kept) > 1 else 1
        return [int(node) for node in kept[np.argsort(-chances)[:number]]]


class Staying(NodeRemoval):
    """Brings pods back on a trial cluster that has a layout; its state follows."""

    def bring_back(self) -> None:
        """Try all pods that could stay on a kept node, again and again while any comes back."""
        while any([self._comes_back(template, node) for template, node in self._away()]):
            self._trial.state.forget_history()

    def _away(self) -> Iterator[tuple[int, int]]:
        """Templates and kept nodes where fewer pods of them are than before."""
        missing = self._before.counts.more_than(self._task.read(self.removed).counts)
        for template, node, _ in missing.where(~self.removed).sites():
            if not self._meter.over():
                yield template, node

    def _moved_in(self, template: int) -> Codes:
        """The pods of a template on nodes where more of them are than before."""
        pods = self._movable.of(template)
        nodes = self._trial.state.node_of[pods]
        now = np.bincount(nodes, minlength=len(self.removed))
        found: Codes = pods[(now > self._before.counts.row(template))[nodes]]
        return found

    def _comes_back(self, template: int, node: int) -> bool:
        """Whether a pod of a template came back to a node; else nothing has changed."""
        state = self._trial.state
        for pod in self._moved_in(template)[: effort.PODS_BROUGHT_BACK].tolist():
            mark = state.mark()
            before = excesses(self._trial.ledger.hard_of((template,)))
            state.unbind(pod)
            if self._trial.accepts(template, node):
                state.bind(pod, node)
                if not worse(before, self._trial.ledger.hard_of((template,))):
                    return True
            state.rollback(mark)
            if any(self._changes_places(pod, other, node) for other in self._came_to(node)):
                return True
        return False

    def _came_to(self, node: int) -> list[int]:
        """Some pods of a node that were elsewhere before, the largest first."""
        on = self._task.movable_on(node)
        templates = {self._trial.template(pod) for pod in on}
        came = {pod for template in templates for pod in self._moved_in(template).tolist()}
        return self._largest_first([pod for pod in on if pod in came])[: effort.PODS_BROUGHT_BACK]

    def _changes_places(self, pod: int, other: int, node: int) -> bool:
        """Whether a pod came to a node that another one left for any place; else nothing has changed."""
        trial, mark = self._trial, self._trial.state.mark()
        constraints = trial.ledger.hard_of((trial.template(pod), trial.template(other)))
        before = excesses(constraints)
        trial.state.unbind(pod)
        trial.state.unbind(other)
        if trial.accepts(trial.template(pod), node):
            trial.state.bind(pod, node)
            if self._place(other) and trial.state.node_of[other] != node and not worse(before, constraints):
                return True
        trial.state.rollback(mark)
        return False
