"""Pods of one template that come one after the other: where the reference scheduler puts them, in one step.

A pod changes what filters and scores say of its own node, and what spread constraints say of cells of nodes.
So both are worked out for all nodes with none, one, two, ... more pods on each; then every pod takes the best
node of the best cell.  The nodes are those that one decision after the other would find.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.constraints.pod_topology_spread.succession import Cell, SpreadInSuccession
from planner.problem.nodes import Codes, Feasible, Ints, Mask
from planner.problem.volume_claims import claims_of
from planner.scheduler.framework import Framework, Plan

#: Fewer pods are decided one by one: working out all nodes costs as much as so many decisions.
WORTH_A_SUCCESSION = 12
#: So many pods at most come to one node in one step.
_MOST_ON_A_NODE = 8
#: In more cells than these one decision after the other is as quick.
_MOST_CELLS = 40
#: Cells are told apart by numbers below this, rather than sorted.
_MOST_NUMBERS = 10_000


def nodes_in_succession(framework: Framework, plan: Plan, pods: int) -> Codes:
    """The nodes to which the first of so many pods of a template go; none where that is not known."""
    found = _Succession.of(framework, plan)
    return np.array([] if found is None else found.run(pods), np.intp)


class _Succession:
    """Nodes by cell, the best first."""

    def __init__(self, framework: Framework, own: Plan, spread: SpreadInSuccession, weight: int) -> None:
        """`own` has the plugins that look at one node alone; `weight` is that of spread."""
        self._framework, self._own, self._spread, self._weight = framework, own, spread, weight
        self._size = framework.problem.nodes.size
        #: With so many more pods on every node, which of them accept another, and the score.
        self._accepted: list[Mask] = []
        self._scores: list[Ints] = []

    @classmethod
    def of(cls, framework: Framework, plan: Plan) -> _Succession | None:
        """None where what is said of a node depends on more than its own pods and the sums of domains."""
        template = plan.template
        plugin = next(iter(framework.profile.of(PodTopologySpread)), None)
        filters = tuple(one for one in plan.changing if one is not plugin)
        scores = tuple((one, weight) for one, weight in plan.scores if one is not plugin)
        own = all(one.is_local(template) for one in filters)
        if not own or not all(one.is_of_node(template) for one, _ in scores) or any(claims_of(template.pod)):
            return None
        weight = sum(weight for one, weight in plan.scores if one is plugin)
        hard = plugin.hard(template) if plugin is not None and plugin in plan.changing else ()
        soft = plugin.soft(template) if plugin is not None and weight else None
        rules = () if soft is None else soft.rules
        if not SpreadInSuccession.is_possible((*hard, *rules), template.index):
            return None
        labelled = framework.problem.nodes.every if soft is None else soft.labelled
        spread = SpreadInSuccession(hard, rules, labelled, template.index)
        return cls(framework, replace(plan, changing=filters, scores=scores), spread, weight)

    def run(self, pods: int) -> list[int]:
        """The nodes for so many pods, or for the first of them."""
        self._add_layer()
        cells, found = self._cells(), list[int]()
        on_node: dict[int, int] = {}
        while len(found) < pods and len(cells) <= _MOST_CELLS:
            best = self._best(cells)
            if best is None:
                break
            node = heappop(cells[best]) % self._size
            if not cells[best]:
                del cells[best]
            found.append(node)
            on_node[node] = more = on_node.get(node, 0) + 1
            if more >= _MOST_ON_A_NODE:
                break
            if more >= len(self._scores):
                self._add_layer()
            after = self._spread.placed(best)
            if self._accepted[more][node]:
                heappush(cells.setdefault(after, []), self._key(node, int(self._scores[more][node])))
        self._framework.state.load(self._own.template.index, np.full(self._size, 1 - len(self._scores)))
        return found

    def _add_layer(self) -> None:
        """Ask about every node with one more pod on each."""
        template = self._own.template
        if self._scores:
            self._framework.state.load(template.index, np.ones(self._size, np.int64))
        accepted = self._own.static
        for plugin in self._own.changing:
            accepted = accepted & (plugin.reject(template) == 0)
        self._accepted.append(accepted)
        self._scores.append(self._framework.totals(self._own, Feasible(accepted)))

    def _cells(self) -> dict[Cell, list[int]]:
        """The nodes that accept a pod by cell, as keys of which the least is the best."""
        nodes = np.flatnonzero(self._accepted[0])
        rows = self._spread.rows[:, nodes]
        keys, codes = self._key(nodes, self._scores[0][nodes]), _numbered(rows)
        found = {}
        for number in np.flatnonzero(np.bincount(codes)).tolist():
            there = codes == number
            found[tuple(rows[:, there.argmax()].tolist())] = np.sort(keys[there]).tolist()
        return found

    def _key(self, node: Codes | int, score: Ints | int) -> Any:
        """Less for a higher score, then for a smaller name."""
        return node - score * self._size

    def _best(self, cells: dict[Cell, list[int]]) -> Cell | None:
        scored = self._spread.scored(cells)
        step = self._weight * self._size
        return min(scored, key=lambda one: cells[one[0]][0] - one[1] * step, default=(None, 0))[0]


def _numbered(rows: Ints) -> Codes:
    """A small number for every column of small numbers, equal for equal columns alone."""
    codes, bound = np.zeros(rows.shape[1], np.intp), 1
    for row in rows:
        size = int(np.ptp(row)) + 1 if row.size else 1
        if size > 1:
            codes, bound = codes * size + (row - row.min()), bound * size
        if bound > _MOST_NUMBERS:
            found, codes = np.unique(codes, return_inverse=True)
            codes, bound = codes.reshape(-1), len(found)
    return codes
