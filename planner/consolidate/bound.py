"""What no set of nodes that holds every pod can cost less than.

Kinds of nodes instead of nodes: a kind is what no pod and no price tells apart.  Pods that may move are
anywhere, all others where they are; all hard constraints hold, as far as kinds know their domains.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.distribution import KindQuotas
from planner.consolidate.layout import Layout, Reserve, SearchTask, filled, in_64_bits
from planner.consolidate.regions import cells
from planner.consolidate.removable import Removable
from planner.cpsat.kept import COST, MOVES, Keepable, KeptRequirements, KeptSolution
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Ints, Mask
from planner.proof import consolidation_effort as effort
from planner.proof.meter import Meter
from planner.scheduler.framework import filters_by_profile

if TYPE_CHECKING:
    from planner.cpsat.keeping import KeepModel

#: Shares of numbers below 2^64 that differ, differ by more than one part of 2^128.
_EXACT = 128


@dataclass(frozen=True, slots=True)
class CostBound:
    """The least cost of all nodes, and nodes that are not kept where the relaxation reaches it.

    `complete` where the nodes of the problem are all that a plan could keep or add, and no spread constraint
    has pods too many to begin with: models that look for layouts ask more of those than a bound may.  Where
    that is so in a small cluster, `moves` is the least number of them at that cost.
    """

    cost: int
    order: Sequence[int] = ()
    complete: bool = True
    quotas: KindQuotas | None = None
    moves: int | None = None


def cost_bound(task: SearchTask, meter: Meter) -> CostBound:
    """The bound of the relaxation over kinds; the trial cluster is as it was before."""
    trial, movable = task.trial, task.movable
    hard = [(found, found.excess()) for found in trial.ledger.hard]
    load = filled(trial.state)
    mark = trial.state.mark()
    for template in movable.templates:
        trial.state.unbind_all(movable.of(template).tolist())
    kinds = _Kinds(task, hard)
    if kinds.pairs > effort.BOUND_OF_COST_PAIRS:
        trial.state.rollback(mark)
        return CostBound(room_bound(task), complete=False)
    running = {template: task.before.counts.row(template) for template in kinds.wanted}
    exact = kinds.model(running)
    quotas: KindQuotas | None = None
    if kinds.pairs > effort.LINEAR_BOUND:
        bound, best = exact.least_cost(meter), kinds.near(running, meter)
        quotas = None if best is None else KindQuotas(kinds.groups, best.coming, best.nodes)
    else:
        small = len(kinds.wanted) * trial.problem.nodes.size <= effort.KEPT_AT_ONCE
        for_moves = effort.KEPT_MOVES_SHARE if kinds.uneven and small else 0.0
        work = {COST: meter.left() * (1 - for_moves), MOVES: meter.left() * for_moves}
        best = exact.solve({stage: share for stage, share in work.items() if share}, meter)
        bound = 0 if best is None else best.bounds[COST]
    trial.state.rollback(mark)
    order = [] if best is None else _not_kept(kinds.groups, best, load)
    moves = None if best is None else best.bounds.get(MOVES)
    return CostBound(task.removable.fixed_cost + bound, order, not kinds.uneven, quotas, moves)


def room_bound(task: SearchTask, added: Mask | None = None) -> int:
    """What nodes cost at least that have room for all pods in sum, of the resource of which that is the most.

    Nodes with the lowest price for their room are kept first, the last one in part; of the machines that may
    be `added` as many of each as it takes.  On a node that has less than its pods request they may stay.
    """
    trial, removable = task.trial, task.removable
    mask = removable.mask
    pods = np.flatnonzero(task.movable.weights)
    there = trial.wanted_on(pods, trial.state.node_of[pods])
    free = np.maximum(trial.free() + trial.state.load_of(pods), there)
    needs = there.sum(axis=1) - free[:, ~mask].sum(axis=1)
    times = np.ones(int(mask.sum()), np.int64)
    least = [0]
    for room, need in zip(free[:, mask], needs.tolist(), strict=True):
        if added is not None:
            times = np.where(added[mask], -(-max(need, 1) // np.maximum(room, 1)), 1)
        least.append(_least_price(room * times, removable.prices[mask] * times, need))
    return removable.fixed_cost + max(least)


def reserve_bound(task: SearchTask) -> int:
    """What nodes cost at least that leave free what has to be, be it when a domain is lost.

    Asked is what is to be free of each resource in each case, and of each resource in all cases together: if
    any of three zones may be lost, a node of one of them brings its room in two cases.
    """
    reserve, removable = task.limits.reserve, task.removable
    if reserve is None:
        return 0
    brings, prices = reserve.brings[:, removable.mask], removable.prices[removable.mask]
    cases = [(row, spare) for row, spare in zip(brings, reserve.spare.tolist(), strict=True)]
    resources = len(task.trial.problem.resources)
    if brings.size <= effort.RESERVES_TOGETHER:
        exact = brings.astype(object)
        cases += [
            (exact[number::resources].sum(axis=0), sum(reserve.spare[number::resources].tolist()))
            for number in range(resources)
        ]
    least = max(_least_price(row, prices, int(sum(row.tolist())) - spare) for row, spare in cases)
    # Where too little is free from the beginning nothing goes, and no plan costs more than that.
    return min(removable.fixed_cost + least, removable.cost(task.before.removed))


def moves_bound(removable: Removable, before: Layout, most_moves: int) -> int:
    """What nodes cost at least that hold all pods but so many that move: those of nodes that go do."""
    there = before.counts.per_node().astype(np.int64)[removable.mask]
    stay = int(there.sum()) - most_moves
    return removable.fixed_cost + _least_price(there, removable.prices[removable.mask], stay)


def with_reserve(found: CostBound, task: SearchTask) -> CostBound:
    """A bound raised to what nodes cost at least that leave free what has to be."""
    least = reserve_bound(task)
    # Of the least moves at the cost that has no reserve nothing is known at another one.
    return found if least <= found.cost else replace(found, cost=least, moves=None)


def _least_price(room: Ints, prices: Ints, need: int) -> int:
    """The price of so much room, a part of a node at a part of its price; costs are whole, so rounded up."""
    # As floats shares could be equal that are not, and the order not that of the least price.
    shares = zip(prices.tolist(), room.tolist(), strict=True)
    exact = [(price << _EXACT) // free if free > 0 else -1 for price, free in shares]
    order = np.array(sorted(np.flatnonzero(room > 0).tolist(), key=exact.__getitem__), np.intp)
    reached = room[order].cumsum()
    whole = int(np.searchsorted(reached, need, side="right"))
    cost = int(prices[order[:whole]].sum())
    if whole < len(order):
        lacking = need - (int(reached[whole - 1]) if whole else 0)
        cost += -(-max(0, lacking) * int(prices[order[whole]]) // int(room[order[whole]]))
    return cost


class _Kinds:
    """A trial cluster without the pods that may move, its nodes as kinds."""

    def __init__(self, task: SearchTask, hard: Sequence[tuple[TrackedConstraint, int]]) -> None:
        """Constraints of `hard` have no more pods too many than so many."""
        trial, movable, removable = task.trial, task.movable, task.removable
        self._trial = trial
        self.wanted = {template: len(movable.of(template)) for template in movable.templates}
        # Where too little is free from the beginning nothing goes, and the model would be of no use.
        reserve = task.limits.reserve
        reserve = None if reserve is None or reserve.lacks(task.before.removed) else reserve
        self.groups = cells(trial, [*self.wanted], removable, reserve)
        self.pairs = len(self.wanted) * len(self.groups.first)
        self._room = {template: trial.plan(template).room(self.wanted) for template in self.wanted}
        free = trial.free()
        self._keepable = {
            kind: Keepable(int(self.groups.nodes_in[kind]), int(removable.prices[node]), free[:, node])
            for kind, node in enumerate(self.groups.first.tolist())
            if removable.mask[node]
        }
        self._touched = [(found, most) for found, most in hard if not found.members.isdisjoint(self.wanted)]
        self.uneven = frozenset(found.rule.identity for found, most in hard if most)
        self._requirements = KeptRequirements(() if reserve is None else [*self._reserve(reserve)])

    def _reserve(self, reserve: Reserve) -> Iterator[tuple[int, Mapping[int, int]]]:
        """What may go in each case, and what a node of each kind brings at least."""
        nodes = [found.nodes for found in self._keepable.values()]
        members = self.groups.members()
        brings = [reserve.brings[:, members[kind]].min(axis=1).tolist() for kind in self._keepable]
        least: dict[tuple[int, ...], int] = {}
        for spare, row in zip(reserve.spare.tolist(), zip(*brings, strict=True), strict=False):
            least[row] = min(spare, least.get(row, spare))
        for row, spare in least.items():
            yield in_64_bits(spare, dict(zip(self._keepable, row, strict=True)), nodes)

    def model(self, running: Mapping[int, Ints]) -> KeepModel:
        """The relaxation in which pods that run may stay where they are."""
        return self._model(running, self._keepable, self.uneven)

    def _filled(self, percent: int) -> KeepModel:
        """The model of so much of all free room in which all constraints hold, also those that do not now."""
        keepable = {
            kind: replace(found, free=found.free * percent // 100) for kind, found in self._keepable.items()
        }
        return self._model({}, keepable, frozenset())

    def _model(
        self, running: Mapping[int, Ints], keepable: Mapping[int, Keepable], uneven: frozenset[Hashable]
    ) -> KeepModel:
        from planner.cpsat.keeping import KeepModel
        from planner.cpsat.variables import Batch

        batch = Batch(
            self._trial.problem,
            self.wanted,
            self._room,
            cells=self.groups,
            running=running,
            uneven=uneven,
        )
        profiles = filters_by_profile(self._trial.frameworks, batch.templates)
        return KeepModel(batch, profiles, keepable, self._touched, self._requirements)

    def near(self, running: Mapping[int, Ints], meter: Meter) -> KeptSolution | None:
        """Quotas of the kinds near the least cost, with few moves; nodes are full only where they have to be.

        Which pods stay is decided later: the model has half the variables.
        """
        if self.pairs > effort.QUOTAS_AT_MOST:
            return None
        is_large = len(self.wanted) * self._trial.problem.nodes.size > effort.REMOVALS_AT_MOST
        fills = effort.QUOTAS_FILL[is_large:]
        tries = (self._filled(percent).with_few_moves(running, meter) for percent in fills)
        return next(filter(None, tries), None)


def _not_kept(kinds: NodeGroups, found: KeptSolution, load: NDArray[np.float64]) -> list[int]:
    """The emptiest nodes of every kind, as many as are not kept."""
    order: list[int] = []
    for kind, members in enumerate(kinds.members()):
        if kind in found.nodes:
            emptiest = members[np.argsort(load[members], kind="stable")]
            order += emptiest[: len(members) - found.nodes[kind]].tolist()
    return order


def is_modelled(trial: TrialCluster, movable: Movable) -> bool:
    """Whether the models allow everything that a plan may do, so that their bounds speak of all plans.

    Pods may stay where they are, whatever rules are broken there.  The models know neither that a cordon
    takes nodes out of the domains of a constraint that honours taints, nor labels that pods get from nodes,
    nor what the snapshot leaves open, such as devices.
    """
    honoured = (one.rule.constraint.node_taints_policy == "Honor" for one in trial.ledger.hard)
    undecided = map(trial.leaves_open, movable.templates)
    return not (trial.problem.labels_follow_nodes or any(honoured) or any(undecided))
