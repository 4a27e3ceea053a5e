"""What the search found, with moves or without, as the document that is printed; every plan is replayed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from models.errors import InternalError
from models.words import counted
from planner.audit.final_state import broken_for_running, stands
from planner.batch.move_incumbent import Moved
from planner.batch.pending import Pending
from planner.batch.search import Result
from planner.batch.steps import Action, evicted
from planner.documents import plan
from planner.eviction.job_notes import about_evictions
from planner.problem import endings
from planner.proof.bounds import status_of
from planner.scheduler.order import Step
from planner.scheduler.preemption import may_preempt
from planner.scheduler.remarks import notes_on


def document(
    pending: Pending, found: Result, *, final_state: bool, usual: Mapping[int, int] | None = None
) -> plan.PlacementPlan:
    """The plan with its bounds and what is left over; it has been bound, step by step, in `pending.state`.

    Of pods alike each comes to its usual node where one of them comes there.
    """
    waiting = {number: list(pods) for number, pods in pending.pods.items()}
    binds = [*_named(waiting, found.steps, usual or {})]
    in_sequence = _replay(pending, binds)
    if not in_sequence and not final_state:
        raise InternalError("a plan broke the filters when it was replayed")
    problem = pending.problem
    found.best.measure_bound_plan()
    stages = tuple(found.best.stages())
    return plan.PlacementPlan(
        # Whether no plan places more pods; the softer stages have verdicts of their own.
        status=status_of(stage for stage in stages if stage.name.startswith(plan.PODS_PLACED)),
        objective=tuple(stage.objective() for stage in stages),
        steps=tuple(
            plan.PlanStep(pod=problem.pods[pod].key, node=problem.nodes.names[node]) for pod, node in binds
        ),
        unplaced=tuple(_unplaced(pending)),
        verdicts=plan.Verdicts(sequence=in_sequence, final_state=stands(problem, pending.state.node_of)),
        kubernetes=problem.kubernetes.document,
        notes=(
            *notes_on(problem, proves=True),
            *_notes(found, final_state=final_state),
            *_preempting(pending, waiting),
            *broken_for_running(problem, pending.state.node_of),
        ),
    )


def _named(
    waiting: Mapping[int, list[int]], steps: Sequence[Step], usual: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """The steps with a pod for each template, which waits no longer."""
    coming, at_usual, taken = Counter(steps), defaultdict[Step, list[int]](list), set[int]()
    for template, pods in waiting.items():
        for pod in reversed(pods):
            step = template, usual.get(pod, -1)
            if len(at_usual[step]) < coming[step]:
                at_usual[step].append(pod)
                taken.add(pod)
        pods[:] = [pod for pod in pods if pod not in taken]
    for template, node in steps:
        here = at_usual[template, node]
        yield here.pop(0) if here else waiting[template].pop(), node


def _replay(pending: Pending, binds: Sequence[tuple[int, int]]) -> bool:
    """Bind one after the other; whether the filters accepted each of them."""
    accepted = True
    for number, alike in groupby(binds, key=lambda bind: int(pending.problem.template_of[bind[0]])):
        framework, some = pending.framework(number), list(alike)
        plan_of = pending.plan(number)
        pods, nodes = [pod for pod, _ in reversed(some)], np.array([node for _, node in some], np.intp)
        bound = framework.bind_in_turn(plan_of, pods, nodes)
        for pod, node in some[bound:]:
            accepted = accepted and framework.fits(plan_of, node)
            pending.state.bind(pod, node)
    return accepted


def line(pending: Pending, number: int) -> str:
    """kube's line about a template in the state as it is."""
    return pending.framework(number).diagnose(pending.plan(number)).message()


def _notes(found: Result, *, final_state: bool) -> Iterator[str]:
    if found.is_reference:
        yield (
            "the batch is too large to be searched for a final state: these are kube-scheduler's own binds, "
            "as far as their constraints hold after them, and no others are broken by them"
        )
    pods = len(found.steps)
    if not final_state and found.final_pods is not None and found.final_pods > pods:
        yield (
            f"{counted(found.final_pods, 'pod')} could stand with every constraint kept, but no order of "
            f"binds that leads there was found: --final-state prints that placement"
        )


def _preempting(pending: Pending, waiting: Mapping[int, Sequence[int]]) -> Iterator[str]:
    """A note where kube-scheduler might evict others for pods that are left over."""
    number = sum(
        len(pods)
        for template, pods in waiting.items()
        if pods and may_preempt(pending.framework(template), pending.template(template))
    )
    if number:
        yield (
            f"kube-scheduler may preempt pods of lower priority for {number} of the pods left over: "
            f"`planner simulate` shows whether it does; here no pod is evicted"
        )


def move_document(pending: Pending, found: Moved) -> plan.PlacementPlan:
    """The plan with its bounds and what is left over; it has been carried out in `pending.state`."""
    if not _carry_out(pending, found.actions):
        raise InternalError("a plan with moves broke the filters when it was replayed")
    problem = pending.problem
    return plan.PlacementPlan(
        status=status_of(found.stages[:-1]),
        objective=tuple(stage.objective() for stage in found.stages),
        steps=tuple(_step(pending, action) for action in found.actions),
        unplaced=tuple(_unplaced(pending, evicted(found.actions))),
        verdicts=plan.Verdicts(sequence=True, final_state=stands(problem, pending.state.node_of)),
        kubernetes=problem.kubernetes.document,
        notes=(
            *notes_on(problem, proves=True),
            *about_evictions(problem, pending.controllers, evicted(found.actions), pending.kept),
            *endings.left_alone(pending.kept),
        ),
    )


def _carry_out(pending: Pending, actions: Sequence[Action]) -> bool:
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


def _unplaced(pending: Pending, gone: Sequence[int] = ()) -> Iterator[plan.Unplaced]:
    """The pods without a place at the end: those of the queue, then those evicted for good.

    Each with kube's line in the state that the plan leads to.
    """
    problem, node_of = pending.problem, pending.state.node_of
    lost = [pod for pod in gone if node_of[pod] < 0]
    lines: dict[int, str] = {}
    for pod in (*pending.scheduler.queue, *lost):
        if held := problem.held_back(pod):
            yield plan.Unplaced(pod=problem.pods[pod].key, message=held)
        elif node_of[pod] < 0:
            number = int(problem.template_of[pod])
            if number not in lines:
                lines[number] = line(pending, number)
            yield plan.Unplaced(pod=problem.pods[pod].key, message=lines[number])
