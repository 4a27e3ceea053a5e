"""Repair in a large cluster: constraints that are still broken, together with nodes and pods around them.

First chains of bystanders.  Then the solver, over the nodes that come closest to having room and the pods
that may move away from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.search.chains import Chains
from planner.rebalance.search.exchanges import Exchanges
from planner.rebalance.search.greedy import Greedy
from planner.rebalance.search.move_order import MoveOrder
from planner.rebalance.search.regions import Regions

Group = tuple[list[int], list[TrackedConstraint]]


class LargeRepair:
    """Repairs groups of constraints on a trial cluster in its present state by moves that it makes."""

    def __init__(
        self, trial: TrialCluster, movable: Movable, regions: Regions, groups: Sequence[Group], meter: Meter
    ) -> None:
        self._trial = trial
        self._movable = movable
        self._regions = regions
        self._groups = groups
        self._meter = meter

    def _stuck(self) -> set[int]:
        """The templates of constraints that are still broken; their pods do not make room for each other."""
        broken = [group for group in self._groups if any(constraint.excess() for constraint in group[1])]
        return {template for templates, _ in broken for template in templates}

    def exchanged(self, greedy: Greedy) -> list[Move]:
        """Moves of the broken constraints' own pods, each to a gap that another one leaves."""
        broken = [d for _, constraints in self._groups for d in constraints if d.hard and d.excess()]
        return Exchanges(self._trial, self._movable, greedy, self._meter).repair(broken)

    def chains(self, greedy: Greedy, most: int | None) -> list[Move]:
        """Chains of at most `most` moves in which bystanders make room."""
        chains = Chains(self._trial, self._movable, greedy, self._stuck(), self._meter)
        broken = [d for _, constraints in self._groups for d in constraints if d.hard and d.excess()]
        return chains.repair(broken, most)

    def solved(self, before: Sequence[Move], most: int | None) -> list[Move]:
        """Moves that the solver finds after `before`, one neighbourhood after the other."""
        moves: list[Move] = []
        stuck = self._stuck()
        for radius in effort.NEIGHBOURHOODS:
            for group in self._groups:
                # No move can repair constraints that no movable pod carries or is counted by.
                if (
                    self._meter.over()
                    or not group[0]
                    or not any(constraint.excess() for constraint in group[1])
                ):
                    continue
                moved = {move.pod for move in (*before, *moves)}
                left = None if most is None else most - len(before) - len(moves)
                moves += self._repair(group, stuck, moved, radius, left)
        return moves

    def _repair(
        self, group: Group, stuck: set[int], moved: set[int], radius: int, most: int | None
    ) -> list[Move]:
        from planner.cpsat.moves import MoveModel

        templates, constraints = group
        nodes = self._nodes(templates, constraints, radius)
        every = sorted({*templates, *self._bystanders(nodes, stuck)})
        touched = self._trial.ledger.touched(every)
        region = self._regions.exact(every, touched, nodes, tight=True, moved=moved)
        model = MoveModel(region, most_moves=most)
        work = effort.NEIGHBOURHOOD_WORK
        shift = model.solve(("hardExcess", "moves"), self._meter.part(work), work)
        if shift is None:
            return []
        before, mark = self._trial.ledger.excess(hard=True), self._trial.state.mark()
        sequencer = MoveOrder.following(self._trial, self._movable, region, shift)
        found = sequencer.run(self._meter.over)
        if self._trial.ledger.excess(hard=True) >= before:
            self._trial.state.rollback(mark)
            return []
        return found

    def _nodes(
        self, templates: Sequence[int], constraints: Sequence[TrackedConstraint], radius: int
    ) -> Codes:
        """Nodes of domains with too many pods, and those of other domains closest to having room."""
        trial = self._trial
        open_to = np.logical_or.reduce([trial.ever_open(template) for template in templates])
        holding = np.zeros_like(open_to)
        for template in templates:
            holding[trial.state.node_of[self._movable.of(template)]] = True
        lack, chosen = self._lack(templates), np.zeros_like(open_to)
        broken = next(constraint for constraint in constraints if constraint.excess())
        codes, surplus = broken.rule.column.codes, broken.surplus()
        full = np.append(surplus > 0, False)[codes]
        sources = np.flatnonzero(holding & full)
        chosen[sources[np.argsort(lack[sources], kind="stable")[: int(surplus.sum()) + radius]]] = True
        for domain in range(len(surplus)) if broken.rule.column.shared else (None,):
            inside = np.flatnonzero(open_to & ~full & (True if domain is None else codes == domain))
            chosen[inside[np.argsort(lack[inside], kind="stable")[:radius]]] = True
        return np.flatnonzero(chosen)

    def _lack(self, templates: Sequence[int]) -> Codes:
        """For every node the part of the largest request that is missing there."""
        problem, state = self._trial.problem, self._trial.state
        wanted = np.max([problem.templates[t].requests for t in templates], axis=0)[:, np.newaxis]
        missing = np.maximum(wanted - (problem.allocatable - state.used), 0) / np.maximum(wanted, 1)
        lack: Codes = np.where(wanted > 0, missing, 0).sum(axis=0)
        return lack

    def _bystanders(self, nodes: Codes, stuck: set[int]) -> set[int]:
        """The movable templates with pods on some nodes, without those that are stuck themselves."""
        inside = np.zeros(self._trial.problem.nodes.size, np.bool_)
        inside[nodes] = True
        pods = np.flatnonzero(self._movable.weights)
        there = pods[inside[self._trial.state.node_of[pods]]]
        return set(np.unique(self._trial.problem.template_of[there]).tolist()) - stuck
