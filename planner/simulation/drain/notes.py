"""What is to be said about a drain beside its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from models.words import counted
from planner.documents.drain import DrainPlan
from planner.eviction.controllers import DELETED, GONE, JOB_ELSEWHERE, SURPLUS, UNSEEN, Controllers
from planner.eviction.ordinals import NOT_WANTED, OTHER_REVISION, WAITS
from planner.problem.problem import Problem
from planner.proof.effort import DrawEffort
from planner.scheduler.other_ties import TOLD, in_draws
from planner.simulation.drain import held
from planner.simulation.drain.play import Drained
from planner.simulation.rollout.cluster_simulation import ClusterSimulation


def overridden(problem: Problem, evicted: Sequence[int]) -> Iterator[str]:
    """What `kubectl drain` does only when told to: pods that nothing makes again, data that is lost."""
    if bare := held.without_controller(problem, evicted):
        more = f" and {len(bare) - 1} more have" if len(bare) > 1 else " has"
        yield (
            f"{problem.pods[bare[0]].key}{more} no controller: kubectl drain asks for --force, nothing makes "
            "such pods again"
        )
    if scratch := held.with_scratch_data(problem, evicted):
        more = f" and {len(scratch) - 1} more have" if len(scratch) > 1 else " has"
        yield (
            f"{problem.pods[scratch[0]].key}{more} emptyDir volumes: kubectl drain asks for "
            "--delete-emptydir-data, their content is lost"
        )


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
