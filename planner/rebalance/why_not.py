"""Why a constraint stays broken, in the words of the scheduler: what keeps its replicas where they are.

The reasons are for the cluster as the plan leaves it.  One replica of a domain with too many is taken away,
and the filters say for every node of the domains that lack one why it is refused.  Small changes that would
help are tried out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from models import Cluster
from models.objects.pod import Pod
from models.objects.quantity import format_quantity
from planner.constraints.node_resources import NodeResourcesFit
from planner.documents.move_plan import MovePlan
from planner.eviction.budgets import ALLOWS_NONE
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Mask
from planner.problem.problem import Problem
from planner.proof import effort
from planner.rebalance.alternatives import MoveTask
from planner.rebalance.document import counted
from planner.scheduler.scheduler import Scheduler
from planner.waves.wave_plan import WavePlan
from planner.whatif.letting_go import another_budget, one_replica_more
from planner.whatif.nodes import add_nodes

#: Filters that say where a pod's volumes are.
_VOLUMES = ("VolumeBinding", "VolumeZone")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a constraint stays broken.

    `more_room` is a node of which one more may help, `held` a pod whose budget allows no eviction.
    """

    text: str
    more_room: str = ""
    held: str = ""


class WhyNot:
    """Explains the constraints that are still broken on a trial cluster."""

    def __init__(self, trial: TrialCluster, movable: Movable) -> None:
        self._trial = trial
        self._movable = movable

    def reasons(self) -> Iterator[Reason]:
        """A reason for each hard constraint that stays broken, for the first few.

        None where a node would take a replica: then limits of a policy or affinity of other pods prevent it.
        """
        broken = [d for d in self._trial.ledger.constraints if d.hard and d.excess()]
        for constraint in broken[: effort.BROKEN_EXPLAINED]:
            column, surplus = constraint.rule.column, constraint.surplus()
            code = int(np.argmax(surplus))
            found = self._of(constraint, code)
            if found is None:
                continue
            many, where = int(surplus[code]), f"{column.key} {column.values[code]}"
            told = (
                f"{self._trial.workloads[constraint.carriers[0]]}: {many} too many in {where}: {found.text}"
            )
            yield replace(found, text=told)
        if len(broken) > effort.BROKEN_EXPLAINED:
            yield Reason(f"{len(broken) - effort.BROKEN_EXPLAINED} more constraints stay broken")

    def _of(self, constraint: TrackedConstraint, code: int) -> Reason | None:
        inside = constraint.rule.counts.eligible & (constraint.rule.column.codes == code)
        node_of, template_of = self._trial.state.node_of, self._trial.problem.template_of
        there = [
            pod
            for pod in np.flatnonzero(np.isin(template_of, sorted(constraint.members))).tolist()
            if node_of[pod] >= 0 and inside[node_of[pod]]
        ]
        stay = Counter(reason for pod in there if (reason := self._movable.reasons.get(pod)))
        free = [pod for pod in there if self._movable.weights[pod]]
        if not free:
            held = (pod for pod in there if self._movable.reasons.get(pod) == ALLOWS_NONE)
            return Reason(
                f"of its pods there ({len(there)}) none may be moved ({', '.join(sorted(stay))})",
                held=next((self._trial.problem.pods[pod].key for pod in held), ""),
            )
        return self._refused(constraint, code, free[0])

    def _refused(self, constraint: TrackedConstraint, code: int, pod: int) -> Reason | None:
        """Why the replacement of one pod cannot come to a domain that lacks one."""
        trial, template = self._trial, self._trial.template(pod)
        mark = trial.state.mark()
        trial.state.unbind(pod)
        counts = constraint.rule.counts
        sums = counts.sums()
        low = np.flatnonzero(
            counts.domains & (sums + constraint.rule.own - constraint.rule.minimum() <= constraint.max_skew)
        )
        nodes = counts.eligible & np.isin(constraint.rule.column.codes, low[low != code])
        found = self._refusal(template, constraint, nodes)
        trial.state.rollback(mark)
        return found

    def _refusal(self, template: int, constraint: TrackedConstraint, nodes: Mask) -> Reason | None:
        """Why most of some nodes refuse one more pod of a template; None if one of them takes it."""
        framework, plan = self._trial.framework(template), self._trial.plan(template)
        found = framework.diagnose(plan)
        if found.refusal is not None or not nodes.any():
            return Reason("no other domain lacks one")
        first = found.first[nodes]
        if (first < 0).any():
            return None
        plugins = Counter(found.rejections[number].plugin for number in first.tolist())
        if all(plugin in _VOLUMES for plugin in plugins):
            return Reason("its volumes hold its pods where they are")
        by_room = np.array([r.plugin == "NodeResourcesFit" for r in found.rejections])
        short = nodes & (found.first >= 0) & by_room[found.first]
        if short.any():
            return self._lacking(template, constraint, short, int(nodes.sum()))
        number = Counter(first.tolist()).most_common(1)[0][0]
        rejection = found.rejections[number]
        said, many = rejection.verdict.reasons[0], int((first == number).sum())
        return Reason(f"of {len(first)} nodes elsewhere {many} refuse: {said}")

    def _lacking(self, template: int, constraint: TrackedConstraint, short: Mask, all_nodes: int) -> Reason:
        """The node where the least room is missing, and how much."""
        trial, problem = self._trial, self._trial.problem
        free = problem.allocatable - trial.state.used
        plugin = next(p for p in trial.framework(template).profile.filters if isinstance(p, NodeResourcesFit))
        wants = plugin.wants(problem.templates[template])
        rows = [row for row, _ in wants]
        amounts = np.array([amount for _, amount in wants])[:, np.newaxis]
        missing = np.maximum(amounts - free[rows], 0)
        nearest = int(np.argmin(np.where(short, (missing / np.maximum(amounts, 1)).max(axis=0), np.inf)))
        lacks = [
            _spelled(problem.resources[row], int(missing[place, nearest]))
            for place, row in enumerate(rows)
            if missing[place, nearest]
        ]
        column, name = constraint.rule.column, problem.nodes.names[nearest]
        where = f"{column.key} {column.values[column.codes[nearest]]}"
        refusing = f"no room on {int(short.sum())} of {all_nodes} nodes elsewhere"
        return Reason(f"{refusing}; {name} in {where} lacks the least: {' and '.join(lacks)}", name)


def _spelled(resource: str, amount: int) -> str:
    """`500m cpu`: room is counted in thousandths of a cpu, and in units of everything else."""
    return f"{format_quantity(amount * (10**6 if resource == 'cpu' else 10**9))} {resource}"


Change = tuple[str, Cluster]


def remedies(cluster: Cluster, reasons: Iterable[Reason]) -> Iterator[Change]:
    """Changes in words, each with the cluster after it; the first few of every kind."""
    several = [*reasons]
    nodes = dict.fromkeys(reason.more_room for reason in several if reason.more_room)
    for node in [*nodes][: effort.NODES_TRIED]:
        yield f"one more node like {node}", add_nodes(cluster, 1, node)
    held = dict.fromkeys(reason.held for reason in several if reason.held)
    for key in [*held][: effort.BUDGETS_TRIED]:
        pod = next(pod for pod in cluster.pods if pod.key == key)
        for changed, change in one_replica_more(cluster, pod):
            yield change.summary, _in_place(changed(), cluster.pods, pod)
        yield from ((change.summary, changed()) for changed, change in another_budget(cluster, pod))


def what_would_help(task: MoveTask, plan: WavePlan, again: Callable[[Cluster], MovePlan]) -> Iterator[str]:
    """Why constraints stay broken when all moves are made, and which small changes would help."""
    problem, meter = task.trial.problem, task.wave_meter
    with task.trial.after(plan.moves):
        found = [*WhyNot(task.trial, task.movable).reasons()]
    yield from (f"stays broken: {reason.text}" for reason in found)
    if len(problem.pods) * problem.nodes.size > effort.TRIED_PLACES:
        return
    meter.look_for("what would help")
    # Asked before and after every try: one that the clock ended has no result, as the document says.
    for words, changed in takewhile(lambda _: not meter.over(), remedies(problem.cluster, found)):
        tried = again(changed)
        left = tried.after.hard_excess
        if left < plan.excess[0] and tried.after.pending <= len(problem.queue()):
            yield f"with {words}, {outcome(len(tried.steps), left)}"
    meter.over()


def outcome(moves: int, left: int) -> str:
    """How many moves a plan has and how many pods too many it leaves."""
    return f"a plan of {counted(moves, 'move')} leaves {counted(left, 'pod')} too many"


def _in_place(changed: Cluster, before: Sequence[Pod], held: Pod) -> Cluster:
    """The cluster when its new pods run where the scheduler puts them, and budgets are counted anew."""
    known = {pod.key for pod in before}
    problem = Problem(changed)
    places = {
        problem.pods[decision.pod].key: problem.nodes.names[decision.node]
        for decision in Scheduler(problem, preemption=False).run()
        if decision.node is not None
    }
    pods = tuple(
        pod if pod.key in known or pod.key not in places else _running(pod, places[pod.key])
        for pod in changed.pods
    )
    budgets = tuple(
        budget.model_copy(update={"status": None}) if budget.namespace == held.namespace else budget
        for budget in changed.pod_disruption_budgets
    )
    return replace(changed, pods=pods, pod_disruption_budgets=budgets)


def _running(pod: Pod, node: str) -> Pod:
    return pod.model_copy(
        update={
            "spec": pod.spec.model_copy(update={"node_name": node}),
            "status": pod.status.model_copy(update={"phase": "Running"}),
        }
    )
