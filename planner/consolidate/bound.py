"""What no set of nodes that holds every pod can cost less than.

Kinds of nodes instead of nodes: a kind is what no pod and no price tells apart.  Pods that may move are
anywhere, all others where they are; all hard constraints hold, as far as kinds know their domains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.consolidate.regions import Limits, cells, profiles, room_of
from planner.consolidate.removable import Removable
from planner.cpsat.keeping import COST, Demands, Keepable, KeepModel
from planner.cpsat.variables import Batch
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.proof.meter import Meter


@dataclass(frozen=True, slots=True)
class Bound:
    """The least cost of all nodes, and for every kind how many of its nodes are kept for it."""

    cost: int
    kinds: tuple[np.ndarray, ...] = ()
    nodes_kept: Mapping[int, int] = None


class CostBound:
    """Solves the relaxation over kinds of nodes."""

    def __init__(self, trial: TrialCluster, movable: Movable, removable: Removable, limits: Limits) -> None:
        self._trial = trial
        self._movable = movable
        self._removable = removable
        self._limits = limits

    def solve(self, meter: Meter) -> Bound:
        trial, problem = self._trial, self._trial.problem
        hard = [(found, found.excess()) for found in trial.ledger.constraints if found.hard]
        fixed = int(self._removable.prices[~self._removable.mask].sum())
        mark = trial.state.mark()
        for pod in np.flatnonzero(self._movable.weights).tolist():
            trial.state.unbind(pod)
        wanted = {t: len(self._movable.of(t)) for t in self._movable.templates}
        groups = cells(trial, [*wanted], self._removable)
        room = {t: room_of(trial, t, wanted) for t in wanted}
        batch = Batch(problem, wanted, room, cells=groups)
        free = problem.allocatable - trial.state.used
        keepable = {
            cell: Keepable(int(groups.nodes_in[cell]), int(self._removable.prices[node]), free[:, node])
            for cell, node in enumerate(groups.first.tolist())
            if self._removable.mask[node]
        }
        touched = [(c, n) for c, n in hard if not c.members.isdisjoint(wanted)]
        model = KeepModel(batch, profiles(trial, batch), keepable, touched, Demands())
        found = model.solve({COST: meter.left()}, meter)
        trial.state.rollback(mark)
        if found is None:
            return Bound(fixed, (), {})
        order: dict[int, int] = {}
        load = (trial.state.used / np.maximum(problem.allocatable, 1)).max(axis=0)
        for cell, members in enumerate(groups.members()):
            if cell in keepable:
                surplus = len(members) - found.nodes[cell]
                for node in members[np.argsort(load[members], kind="stable")][:surplus].tolist():
                    order[node] = 1
        quotas = np.zeros((len(problem.templates), groups.size), np.int64)
        for (template, cell), number in found.coming.items():
            quotas[template, cell] = number
        return Bound(fixed + found.bounds[COST], (quotas, groups), order)
