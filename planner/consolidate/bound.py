"""What no set of nodes that holds every pod can cost less than.

Kinds of nodes instead of nodes: a kind is what no pod and no price tells apart.  Pods that may move are
anywhere, all others where they are; all hard constraints hold, as far as kinds know their domains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.audit.findings import findings_of
from planner.consolidate.distribution import Quotas
from planner.consolidate.layout import Layout
from planner.consolidate.regions import cells, profiles, room_of
from planner.consolidate.removable import Removable
from planner.cpsat.kept import COST, Demands, Keepable, Kept
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Ints
from planner.proof import effort
from planner.proof.meter import Meter


@dataclass(frozen=True, slots=True)
class CostBound:
    """The least cost of all nodes, and nodes that are not kept where the relaxation reaches it.

    `complete` where the nodes of the problem are all that a plan could keep or add.
    """

    cost: int
    order: Sequence[int] = ()
    complete: bool = True
    quotas: Sequence[Quotas] = ()


def cost_bound(
    trial: TrialCluster, movable: Movable, removable: Removable, before: Layout, meter: Meter
) -> CostBound:
    """The bound of the relaxation over kinds; the trial cluster is as it was before."""
    from planner.cpsat.keeping import KeepModel
    from planner.cpsat.variables import Batch

    problem, fixed = trial.problem, removable.fixed_cost
    hard = [(found, found.excess()) for found in trial.ledger.constraints if found.hard]
    load = (trial.state.used / np.maximum(problem.allocatable, 1)).max(axis=0)
    mark = trial.state.mark()
    for pod in np.flatnonzero(movable.weights).tolist():
        trial.state.unbind(pod)
    wanted = {t: len(movable.of(t)) for t in movable.templates}
    kinds = cells(trial, [*wanted], removable)
    room = {t: room_of(trial, t, wanted) for t in wanted}
    free = problem.allocatable - trial.state.used
    keepable = {
        kind: Keepable(int(kinds.nodes_in[kind]), int(removable.prices[node]), free[:, node])
        for kind, node in enumerate(kinds.first.tolist())
        if removable.mask[node]
    }
    touched = [(found, most) for found, most in hard if not found.members.isdisjoint(wanted)]

    def model(now: Mapping[int, Ints]) -> KeepModel:
        batch = Batch(problem, wanted, room, cells=kinds, running=now)
        return KeepModel(batch, profiles(trial, batch), keepable, touched, Demands())

    running = {t: before.counts[t] for t in wanted}
    exact = model(running)
    pairs = len(wanted) * len(kinds.first)
    found: list[Kept | None] = []
    if pairs > effort.LINEAR_BOUND:
        bound = exact.least_cost(meter)
        if pairs <= effort.CHEAP_QUOTAS_AT_MOST:
            # Which pods stay is decided later; without that the model has half the variables.
            found.append(model({}).cheap(meter))
        if pairs <= effort.QUOTAS_AT_MOST:
            found.append(model({}).with_few_moves(bound, running, meter))
    else:
        found.append(exact.solve({COST: meter.left()}, meter))
        bound = found[0].bounds[COST] if found[0] is not None else 0
    trial.state.rollback(mark)
    some = [one for one in found if one is not None]
    order = [*_not_kept(kinds, some[0], load)] if some else []
    quotas = [
        Quotas(kinds, Counter(one.coming) + Counter(one.staying), one.nodes)
        for one in some
        if pairs > effort.LINEAR_BOUND
    ]
    return CostBound(fixed + bound, order, quotas=quotas)


def _not_kept(kinds: NodeGroups, found: Kept, load: NDArray[np.float64]) -> list[int]:
    """The emptiest nodes of every kind, as many as are not kept."""
    order: list[int] = []
    for kind, members in enumerate(kinds.members()):
        if kind in found.nodes:
            emptiest = members[np.argsort(load[members], kind="stable")]
            order += emptiest[: len(members) - found.nodes[kind]].tolist()
    return order


def is_modelled(trial: TrialCluster, movable: Movable) -> bool:
    """Whether the models allow everything that a plan may do, so that their bounds speak of all plans.

    They know no pod that breaks a rule already, and do not see that a cordon takes a node out of the domains
    of a constraint that honours taints.
    """
    problem, hard = trial.problem, [found for found in trial.ledger.constraints if found.hard]
    if any(found.excess() or found.rule.constraint.node_taints_policy == "Honor" for found in hard):
        return False
    if (trial.state.used > problem.allocatable).any():
        return False
    where = problem.node_of
    accepted = all(trial.plan(t).static[where[movable.of(t)]].all() for t in movable.templates)
    return accepted and not any(True for _ in findings_of(problem, trial.state))
