"""What the search with moves found, as the document that is printed; every step is replayed on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from models.errors import InternalError
from planner.audit.final_state import stands
from planner.batch.document import line
from planner.batch.move_incumbent import Moved
from planner.batch.pending import Pending
from planner.batch.steps import Action, evicted
from planner.documents import plan
from planner.eviction.job_notes import about_evictions
from planner.problem import endings
from planner.proof.bounds import status_of
from planner.scheduler.remarks import remarks


def move_document(pending: Pending, found: Moved) -> plan.PlacementPlan:
    """The plan with its bounds and what is left over; it has been carried out in `pending.state`."""
    if not _replay(pending, found.actions):
        raise InternalError("a plan with moves broke the filters when it was replayed")
    problem = pending.problem
    return plan.PlacementPlan(
        status=status_of(found.stages[:-1]),
        objective=tuple(stage.objective() for stage in found.stages),
        steps=tuple(_step(pending, action) for action in found.actions),
        unplaced=tuple(_unplaced(pending, found.actions)),
        verdicts=plan.Verdicts(sequence=True, final_state=stands(problem, pending.state.node_of)),
        kubernetes=problem.kubernetes.document,
        notes=(
            *problem.cluster.notes,
            *problem.notes,
            *problem.unproved,
            *remarks(problem),
            *about_evictions(problem, pending.controllers, evicted(found.actions), pending.kept),
            *endings.left_alone(pending.kept),
        ),
    )


def _replay(pending: Pending, actions: Sequence[Action]) -> bool:
    """Carry out one action after the other; whether the filters accepted each bind when it was made."""
    pending.bind_where_they_run()
    for action in actions:
        if action.node is None:
            pending.state.unbind(action.pod)
            continue
        if not pending.fits(action.pod, action.node):
            return False
        pending.state.bind(action.pod, action.node)
    return True


def _step(pending: Pending, action: Action) -> plan.PlanStep:
    names = pending.problem.nodes.names
    return plan.PlanStep(
        action="evict" if action.node is None else "bind",
        pod=pending.problem.pods[action.pod].key,
        node=None if action.node is None else names[action.node],
        source=None if action.source is None else names[action.source],
    )


def _unplaced(pending: Pending, actions: Sequence[Action]) -> Iterator[plan.Unplaced]:
    """The pods without a place at the end: those of the queue, then those evicted for good."""
    problem, node_of = pending.problem, pending.state.node_of
    lost = [pod for pod in evicted(actions) if node_of[pod] < 0]
    lines: dict[int, str] = {}
    for pod in (*pending.scheduler.queue, *lost):
        if held := problem.held_back(pod):
            yield plan.Unplaced(pod=problem.pods[pod].key, message=held)
        elif node_of[pod] < 0:
            number = int(problem.template_of[pod])
            if number not in lines:
                lines[number] = line(pending, number)
            yield plan.Unplaced(pod=problem.pods[pod].key, message=lines[number])
