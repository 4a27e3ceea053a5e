"""The rows of a DrainPlan: what becomes of nodes, pods and Jobs in a drain that was played.

And what is to be said beside the plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from models.objects.workload import Job
from models.words import counted
from planner.audit.spread_counts import Owners, SpreadCounts, too_much
from planner.documents.drain import BlockedNode, DrainedJob, DrainEviction, DrainPlan, DrainStep, StayingPod
from planner.documents.move_plan import Balance
from planner.documents.plan import PendingReason
from planner.documents.reasons import reasons_of
from planner.eviction.controllers import DELETED, GONE, JOB_ELSEWHERE, SURPLUS, UNSEEN, Controllers
from planner.eviction.jobs import Impact
from planner.eviction.ordinals import NOT_WANTED, OTHER_REVISION, WAITS
from planner.problem.problem import Problem
from planner.proof.effort import DrawEffort
from planner.scheduler.other_ties import TOLD, in_draws
from planner.simulation.drain import held
from planner.simulation.drain.play import Drained
from planner.simulation.rollout.cluster_simulation import ClusterSimulation

_BARE = "no controller: kubectl drain asks for --force, nothing makes such pods again"
_SCRATCH = "emptyDir volumes: kubectl drain asks for --delete-emptydir-data, their content is lost"


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
    """What is too much, and how many pods wait or are not even created."""
    pending = len(simulation.waiting) + len(simulation.refusals)
    return Balance(**too_much((item.hard, item.surplus) for item in counts), pending=pending)


def pending_of(
    problem: Problem, simulation: ClusterSimulation, refused: Mapping[int, str]
) -> Iterator[PendingReason]:
    """Why pods are left without a node, or are not even created, the most frequent reason first."""
    lines = {pod: simulation.messages[pod] for pod in simulation.waiting if pod in simulation.messages}
    lines |= refused
    return reasons_of([(problem.pods[pod].key, line) for pod, line in lines.items()])


def overridden(problem: Problem, evicted: Sequence[int]) -> Iterator[str]:
    """What `kubectl drain` does only when told to: pods that nothing makes again, data that is lost."""
    bare, scratch = held.without_controller(problem, evicted), held.with_scratch_data(problem, evicted)
    for pods, told in ((bare, _BARE), (scratch, _SCRATCH)):
        if pods:
            have = f" and {len(pods) - 1} more have" if len(pods) > 1 else " has"
            yield f"{problem.pods[pods[0]].key}{have} {told}"


def not_made_again(problem: Problem, controllers: Controllers, evicted: Sequence[int]) -> Iterator[str]:
    """Evicted pods that have a controller and do not come back all the same, or not soon, or otherwise."""
    told = (GONE, DELETED, JOB_ELSEWHERE, SURPLUS, UNSEEN, WAITS, OTHER_REVISION, NOT_WANTED)
    found: dict[str, list[int]] = {}
    for pod in evicted:
        found.setdefault(controllers.why_not(pod), []).append(pod)
    for reason, pods in found.items():
        if reason in told:
            more = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
            yield f"{problem.pods[pods[0]].key}{more}, {reason}: may not come back as it was"


def preempted(problem: Problem, preempted: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Which pods may make room for replacements that find no node otherwise."""
    if preempted:
        victim, by = (problem.pods[pod].key for pod in preempted[0])
        more = f", and {len(preempted) - 1} more are preempted" if len(preempted) > 1 else ""
        yield f"{victim} may be preempted by the replacement of {by}{more}: no node is open to it then"


def of_draws(failing: Sequence[DrainPlan], effort: DrawEffort) -> Iterator[str]:
    """At most one note: what a drain that does no harm does with other ties, by an example."""
    if failing:
        plan = failing[0]
        if not plan.played_to_end:
            what = "pods evict each other in a loop"
        elif plan.blocked:
            what = f"{plan.blocked[0].node} is not emptied"
        elif plan.new_pending:
            such = f", such as {plan.pending[0].example}" if plan.pending and not plan.before.pending else ""
            what = f"{_waiting_anew(plan.new_pending)}{such}"
        else:
            row = plan.worse[0]
            what = f"a constraint of {row.workload} in {row.namespace} ends worse"
        ties = "with other ties, or pods of a node evicted in another order"
        yield f"{ties}, it does harm {in_draws(len(failing), effort)}: in the first, {what}; {TOLD}"


def with_new_nodes(again: DrainPlan) -> str:
    """What a drain comes to after as many new nodes have come as are drained."""
    every, emptied = len(again.nodes), len(again.nodes) - len(again.blocked)
    return (
        f"--surge {every}, as many new nodes as are drained, would help: {emptied} of "
        f"{counted(every, 'node')} emptied, {_waiting_anew(again.new_pending)}"
    )


def _waiting_anew(pods: int) -> str:
    """`1 pod pending that was not before`."""
    return f"{counted(pods, 'pod')} pending that {'was' if pods == 1 else 'were'} not before"


def returned(
    problem: Problem,
    simulation: ClusterSimulation,
    found: Drained,
    nodes: Sequence[int],
    replaced: Mapping[int, int],
) -> Iterator[str]:
    """Whose replacements land on a node that is being drained."""
    node_of = simulation.scheduler.state.node_of
    evicted = [replaced.get(pod, pod) for pods in found.evicted.values() for pod in pods]
    drained = {*nodes}
    back = [pod for pod in evicted if node_of[pod] in drained]
    if back:
        first, on = problem.pods[back[0]].key, problem.nodes.names[node_of[back[0]]]
        more = f", and so do {len(back) - 1} more" if len(back) > 1 else ""
        yield f"{first} tolerates the cordon and lands on {on}{more}: no pod is evicted twice"
