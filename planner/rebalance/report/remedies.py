"""Small changes after which a constraint that stays broken could be repaired, each tried out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from models import Cluster
from models.objects.pod import Pod
from planner.documents.move_plan import MovePlan
from planner.problem.problem import Problem
from planner.proof import effort
from planner.rebalance.report.why_not import Reason
from planner.scheduler.scheduler import Scheduler
from planner.whatif.letting_go import another_budget, one_replica_more
from planner.whatif.nodes import add_nodes

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
            yield change.summary, _in_place(changed, cluster.pods, pod)
        yield from ((change.summary, changed) for changed, change in another_budget(cluster, pod))


def tried(
    changes: Iterable[Change], plan: Callable[[Cluster], MovePlan], excess: int, pending: int
) -> Iterator[str]:
    """A line for each change that leaves less excess, with the moves and the pods still too many."""
    for words, changed in changes:
        found = plan(changed)
        left = found.after.hard_excess
        if left < excess and found.after.pending <= pending:
            yield f"with {words}, {outcome(len(found.steps), left)}"


def outcome(moves: int, left: int) -> str:
    """How many moves a plan has and how many pods too many it leaves."""
    return f"a plan of {_count(moves, 'move')} leaves {_count(left, 'pod')} too many"


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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _running(pod: Pod, node: str) -> Pod:
    return pod.model_copy(
        update={
            "spec": pod.spec.model_copy(update={"node_name": node}),
            "status": pod.status.model_copy(update={"phase": "Running"}),
        }
    )
