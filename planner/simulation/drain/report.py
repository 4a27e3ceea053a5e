"""The rows of a DrainPlan: what becomes of nodes, pods and Jobs in a drain that was played."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from models.objects.workload import Job
from planner.audit.spread_counts import Owners, SpreadCounts, too_much
from planner.documents.drain import BlockedNode, DrainedJob, DrainEviction, DrainStep, StayingPod
from planner.documents.move_plan import Balance
from planner.documents.plan import PendingReason
from planner.documents.reasons import reasons_of
from planner.eviction.jobs import Impact
from planner.problem.problem import Problem
from planner.simulation.drain import held
from planner.simulation.drain.play import Drained
from planner.simulation.rollout.cluster_simulation import ClusterSimulation


def job_of(job: Job, impact: Impact) -> DrainedJob:
    """What the evictions do to a Job."""
    return DrainedJob(
        namespace=job.namespace,
        job=job.name,
        evictions=impact.evictions,
        outcome=impact.outcome,
        reason=impact.reason,
        retries=impact.retries,
        retries_left=impact.retries_left,
    )


def steps_of(
    problem: Problem, simulation: ClusterSimulation, found: Drained, replaced: Mapping[int, int]
) -> Iterator[DrainStep]:
    """The nodes in their order, each with the wave in which it was last asked."""
    names, node_of = problem.nodes.names, simulation.scheduler.state.node_of
    last = {node: wave for wave, nodes in enumerate(found.waves) for node in nodes}
    for number, wave in enumerate(sorted(set(last.values())), start=1):
        for node in (node for node in found.waves[wave] if last[node] == wave):
            places = [(pod, int(node_of[replaced.get(pod, pod)])) for pod in found.evicted.get(node, ())]
            evictions = tuple(
                DrainEviction(pod=problem.pods[pod].key, lands=names[place] if place >= 0 else None)
                for pod, place in places
            )
            yield DrainStep(wave=number, node=names[node], evictions=evictions)


def blocked_of(problem: Problem, found: Drained, nodes: Sequence[str]) -> Iterator[BlockedNode]:
    """The nodes that are not empty in the end, and why."""
    staying: dict[str, list[StayingPod]] = defaultdict(list)
    for node, several in found.stuck.items():
        staying[problem.nodes.names[node]] = [
            StayingPod(pod=problem.pods[pod].key, message=message, reason=reason)
            for pod, reason, message in several
        ]
    for name, pod in held.finished(problem.cluster, nodes):
        staying[name].append(pod)
    if not staying:
        return
    owners, known = Owners(problem.cluster), {pod.key: pod for pod in problem.cluster.pods}
    for name, pods in staying.items():
        told = (pod.model_copy(update={"workload": owners.of(known[pod.pod])}) for pod in pods)
        first = pods[0]
        yield BlockedNode(
            node=name, pod=first.pod, message=first.message, reason=first.reason, pods=tuple(told)
        )


def balance_of(counts: Sequence[SpreadCounts], simulation: ClusterSimulation) -> Balance:
    """What is too much, and how many pods wait."""
    return Balance(**too_much((item.hard, item.surplus) for item in counts), pending=len(simulation.waiting))


def pending_of(
    problem: Problem, simulation: ClusterSimulation, refused: Mapping[int, str]
) -> Iterator[PendingReason]:
    """Why pods are left without a node, or are not even created, the most frequent reason first."""
    lines = {pod: simulation.messages[pod] for pod in simulation.waiting if pod in simulation.messages}
    lines |= refused
    return reasons_of([(problem.pods[pod].key, line) for pod, line in lines.items()])
