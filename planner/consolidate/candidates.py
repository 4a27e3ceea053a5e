"""Which machines of a catalogue a search chooses from, and how many of each.

Of types that all pods see as one, a type that is no cheaper and no larger than another is left out.  The
relaxation over kinds chooses among as many machines as could pay; a search, node by node, gets those that
the relaxation takes and a few more of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.consolidate.bound import CostBound, cost_bound, with_reserve
from planner.consolidate.catalogue import Catalogue, MachineType
from planner.consolidate.layout import PlanLimits
from planner.consolidate.loss_room import room_with_preemption
from planner.consolidate.regions import cells
from planner.consolidate.removable import Removable
from planner.consolidate.setting import ConsolidationQuestion, Setting, named
from planner.problem.nodes import HOSTNAME
from planner.proof import consolidation_effort as effort
from planner.proof.meter import Meter

_Counts = Sequence[tuple[MachineType, int]]


@dataclass(frozen=True, slots=True)
class MachineCandidates:
    """A cluster with the machines that a search chooses from, and the bound on the cost."""

    setting: Setting
    bound: CostBound
    #: Whether the bound speaks of all sets of machines.
    claimed: bool


def candidates(
    question: ConsolidationQuestion,
    catalogue: Catalogue,
    meter: Meter,
    limits_of: Callable[[Setting], PlanLimits] | None = None,
) -> MachineCandidates:
    """The machines of a catalogue that may pay in a cluster.

    `limits_of` says how much room has to stay free in a setting, if any has.  A type that is left out brings
    no more of it than a cheaper one.
    """
    alone, spare = Setting.of(question, {}), limits_of is not None
    useful = _useful(alone, catalogue, spare=spare)
    counts, complete = _that_pay(alone, useful, spare=spare)
    claimed = complete and _is_known(Setting.of(question, named(question, [(one, 1) for one in useful])))
    most = Setting.of(question, named(question, counts if claimed else _likely(question, counts)))
    if claimed and _holds_pods(alone, most):
        claimed = False
        most = Setting.of(question, named(question, _likely(question, counts)))
    if _holds_pods(alone, most):
        claimed, most = False, alone
    task = most.task() if limits_of is None else most.task(limits_of(most))
    bound = cost_bound(task, meter)
    if not claimed:
        known = most.removable.fixed_cost
        return MachineCandidates(
            most, CostBound(known, bound.order, complete=False, quotas=bound.quotas), claimed
        )
    bound = with_reserve(bound, task)
    pairs = len(most.movable.templates) * most.problem.nodes.size
    if pairs <= effort.KEPT_AT_ONCE or not bound.order:
        return MachineCandidates(most, bound, claimed)
    few, taken = _few(most, bound)
    names, index = most.problem.nodes.names, few.problem.nodes.index
    left_out = {names[node] for node in bound.order} - most.machines.keys() | few.machines.keys() - taken
    order = sorted(index[name] for name in left_out)
    return MachineCandidates(few, CostBound(bound.cost, order, complete=False), claimed)


def one_of_each(alone: Setting, catalogue: Catalogue) -> Setting | None:
    """The cluster with a machine of each type; None where pods have to stay as those of DaemonSets come."""
    machines = named(alone.question, [(machine, 1) for machine in catalogue.types])
    setting = Setting.of(alone.question, machines)
    return None if _holds_pods(alone, setting) else setting


def _useful(alone: Setting, catalogue: Catalogue, *, spare: bool) -> Sequence[MachineType]:
    """The types that hold their DaemonSets' pods, and that no other type makes superfluous.

    With `spare` a type whose DaemonSets ask for less than another's brings more of its room; with --survive
    so does one whose DaemonSets' pods may be preempted.
    """
    survive, setting = alone.question.survive, one_of_each(alone, catalogue)
    if setting is None:
        return catalogue.types
    problem, machines = setting.problem, setting.machines
    every = Removable(problem.nodes.none, setting.removable.prices)
    alike = cells(setting.trial, [*setting.movable.templates], every, exactly=True).of
    asked = np.array([t.requests for t in problem.templates]).reshape(-1, len(problem.allocatable))
    # Volumes may be out of reach of nodes that nothing else tells apart.
    numbers = {template: len(setting.movable.of(template)) for template in setting.movable.templates}
    holds = [setting.trial.plan(template).room(numbers) for template in numbers]
    rows = asked.any(axis=0)
    free = np.vstack([setting.trial.free()[rows], *holds])
    brings = np.vstack([free, -setting.trial.state.used[rows]]) if spare else free
    if survive is not None:
        brings = np.vstack([brings, room_with_preemption(problem)[rows]])
    keys = {found.rule.column.key for found in setting.trial.ledger.constraints} - {HOSTNAME}
    if survive not in (None, HOSTNAME):
        keys.add(survive)
    kept: list[int] = []
    nodes = [problem.nodes.index[name] for name in machines]
    larger_first = sorted(nodes, key=lambda node: (int(every.prices[node]), *(-free[:, node]).tolist()))
    domains = {node: tuple(problem.nodes.column(key).codes[node] for key in sorted(keys)) for node in nodes}
    for node in larger_first:
        others = [other for other in kept if alike[other] == alike[node] and domains[other] == domains[node]]
        beaten = bool(others) and bool((brings[:, others] >= brings[:, [node]]).all(axis=0).any())
        if not beaten and (free[:, node] >= 0).all():
            kept.append(node)
    return [machines[problem.nodes.names[node]] for node in sorted(kept)]


def _that_pay(alone: Setting, types: Sequence[MachineType], *, spare: bool) -> tuple[_Counts, bool]:
    """How many machines of each type a cheaper set could have; whether so many are allowed.

    One for each pod at most, unless room has to stay free on some that hold no pod.
    """
    most = float((alone.removable.cost(alone.added) - alone.removable.fixed_cost) * alone.prices.unit)
    pods = math.inf if spare else np.count_nonzero(alone.movable.weights)
    counts = [
        (machine, min(pods, most / float(machine.price) + 1e-9) if machine.price else pods)
        for machine in types
    ]
    allowed = max(1, effort.MOST_MACHINES // max(1, len(types)))
    complete = all(number <= allowed for _, number in counts)
    return [(machine, int(min(number, allowed))) for machine, number in counts], complete


def _likely(question: ConsolidationQuestion, counts: _Counts) -> _Counts:
    """No more machines of each type than a plan is likely to add."""
    most = max(effort.SPARE_MACHINES, int(len(question.cluster.nodes) * effort.LIKELY_MACHINES_SHARE))
    return [(machine, min(number, most)) for machine, number in counts]


def _holds_pods(alone: Setting, setting: Setting) -> bool:
    """Whether with these machines pods have to stay: those of DaemonSets there fill their quota."""
    index, weights = setting.problem.pod_index, setting.movable.weights
    movable = np.flatnonzero(alone.movable.weights).tolist()
    return any(not weights[index[alone.problem.pods[pod].key]] for pod in movable)


def _is_known(setting: Setting) -> bool:
    """Whether machines that are not added are no domains of their own in the models.

    The models count the domains of all nodes; a hostname, or a zone where only machines of the catalogue are
    eligible for a constraint, is a domain once a machine is added.
    """
    before = ~setting.added
    for found in setting.trial.ledger.hard:
        column, eligible = found.rule.column, found.rule.counts.eligible
        known, all_domains = (np.unique(column.codes[nodes]) for nodes in (eligible & before, eligible))
        if column.key == HOSTNAME or known.size < all_domains.size:
            return False
    return True


def _few(most: Setting, bound: CostBound) -> tuple[Setting, set[str]]:
    """The cluster with as many machines as the relaxation takes, named too, and some more of each type."""
    left_out = {most.problem.nodes.names[node] for node in bound.order}
    of_type: dict[int, list[str]] = {}
    for name, machine in most.machines.items():
        of_type.setdefault(id(machine), []).append(name)
    more = max(effort.SPARE_MACHINES, int(len(most.question.cluster.nodes) * effort.SPARE_MACHINES_SHARE))
    is_few = len(of_type) <= effort.FEW_MACHINE_TYPES
    kept, taken = most.problem.nodes.none.copy(), set[str]()
    for names in of_type.values():
        used = sum(name not in left_out for name in names)
        taken |= {*names[:used]}
        spare = more if used or is_few else 0
        kept[[most.problem.nodes.index[name] for name in names[: used + spare]]] = True
    return most.only(kept), taken
