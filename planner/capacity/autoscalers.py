"""All HorizontalPodAutoscalers at their maximum at once: whose pods stay pending, and whose even alone."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from models import Cluster
from models.controllers.owners import Workloads
from models.controllers.reconcile import workloads_of
from models.objects.pod import Pod
from planner.documents.capacity import AutoscalerCapacity
from planner.problem.problem import Problem
from planner.proof.clock import report_best
from planner.proof.effort import STANDARD
from planner.scheduler.other_ties import turns_drawn
from planner.scheduler.remarks import no_profile
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.whatif.autoscaling import targets_of
from planner.whatif.scaling import scale


class _Rest(NamedTuple):
    """What is left without a node once all is at rest."""

    pending: Mapping[str, tuple[int, str]]
    """How many pods of a workload, by its name, and the line about the first of them."""
    helped: Collection[str]
    """The workloads whose pods may have a node only because pods of others came or were preempted."""


def at_maximum(cluster: Cluster) -> Iterator[AutoscalerCapacity]:
    """A row for every autoscaler, those with the most pending pods first."""
    targets, largest = [*targets_of(cluster)], _largest(cluster)
    # One that takes pods away makes room for those of others.
    makes_room = any(workload.spec.replicas > most for _, workload, most in targets)
    rest, rows = _rest(_scaled(cluster, largest)) if targets else _Rest({}, ()), []
    for number, (scaler, workload, most) in enumerate(targets):
        report_best(f"{number} of {len(targets)} autoscalers")
        name, alone = workload.full_name, 0
        pending, message = rest.pending.get(name, (0, ""))
        if pending or makes_room or most < largest[name] or name in rest.helped:
            alone, _ = _rest(scale(cluster, name, most)).pending.get(name, (0, ""))
        rows.append(
            AutoscalerCapacity(
                namespace=scaler.namespace,
                name=scaler.name,
                workload=f"{workload.kind}/{workload.name}",
                max_replicas=most,
                pending=pending,
                alone=alone,
                message=message,
            )
        )
    yield from sorted(rows, key=lambda row: (-row.pending, row.namespace, row.name))


def _largest(cluster: Cluster) -> Mapping[str, int]:
    """By workload the maximum of its autoscalers."""
    largest = dict[str, int]()
    for _, workload, most in targets_of(cluster):
        largest[workload.full_name] = max(most, largest.get(workload.full_name, 0))
    return largest


def more_at_maximum(cluster: Cluster) -> int:
    """How many more replicas there are when all autoscalers are at their maximum."""
    now = {workload.full_name: workload.spec.replicas for _, workload, _ in targets_of(cluster)}
    return sum(max(0, most - now[name]) for name, most in _largest(cluster).items())


def _scaled(cluster: Cluster, replicas: Mapping[str, int]) -> Cluster:
    for name, number in replicas.items():
        cluster = scale(cluster, name, number)
    return cluster


def short_in_draw(cluster: Cluster, seed: int, is_new: Callable[[Pod], bool]) -> Iterator[tuple[str, str]]:
    """By namespace and name the autoscalers with pending pods when all are at their maximum, with ties drawn.

    Pods that are new come in any order.
    """
    rest = _rest(_scaled(cluster, _largest(cluster)), seed, is_new)
    for scaler, workload, _ in targets_of(cluster):
        if workload.full_name in rest.pending:
            yield scaler.namespace, scaler.name


def _rest(
    cluster: Cluster, seed: int | None = None, is_new: Callable[[Pod], bool] = lambda pod: False
) -> _Rest:
    """The pods that stay pending, by their workload; with a seed ties are drawn, and turns of new pods."""
    problem, owners = Problem(cluster), workloads_of(cluster)
    scheduler = Scheduler(problem, seed=seed)
    if seed is not None:
        scheduler.queue = turns_drawn(problem, scheduler.queue, is_new, seed)
    coming: dict[str, dict[int, int]] = defaultdict(dict)
    for pod in scheduler.queue:
        if (name := _workload(owners, problem.pods[pod])) is not None:
            coming[name][int(problem.template_of[pod])] = pod
    helped = [name for name, pods in coming.items() if _asks_for_others(scheduler, pods, coming)]
    pending: dict[str, tuple[int, str]] = {}
    left, evicts = _unplaced(scheduler)
    for decision in left:
        if (name := _workload(owners, problem.pods[decision.pod])) is not None:
            pods, message = pending.get(name, (0, decision.message))
            pending[name] = (pods + 1, message)
    return _Rest(pending, coming if evicts else helped)


def _workload(owners: Workloads, pod: Pod) -> str | None:
    found = owners.above(pod)
    return None if found is None else found.full_name


def _asks_for_others(
    scheduler: Scheduler, pods: Mapping[int, int], coming: Mapping[str, Mapping[int, int]]
) -> bool:
    """Whether filters ask, about one of these pods by template, for pods of other workloads that come."""
    others = set[int]().union(*coming.values()).difference(pods)
    for pod in pods.values():
        plan = scheduler.plan_of(pod)
        watched = [plugin.watches(plan.template) for plugin in plan.changing]
        if any(found is None or not others.isdisjoint(found) for found in watched):
            return True
    return False


def _unplaced(scheduler: Scheduler) -> tuple[Iterable[SchedulingDecision], bool]:
    """What is decided about the pods that are left once all is at rest, and whether any pod is evicted.

    Pods that are preempted come back behind all others where a controller makes them again, and those that
    are refused are tried again as long as pods come or go.
    """
    scheduler.restore_nominations(scheduler.queue)
    waiting, left, evicts = deque(scheduler.queue), dict[int, SchedulingDecision](), False
    elsewhere = {pod: lost for pod in scheduler.problem.queue() if (lost := _left_alone(scheduler, pod))}
    for _ in range(STANDARD.explain.rounds_to_rest):
        changed = False
        while waiting:
            decision = scheduler.take(waiting.popleft())
            scheduler.state.forget_history()
            left.pop(decision.pod, None)
            if decision.node is None:
                left[decision.pod] = decision
            evicts |= bool(decision.victims)
            changed |= decision.node is not None or bool(decision.victims)
            for pod in decision.victims:
                if scheduler.problem.pods[pod].metadata.controller is None:
                    continue
                if lost := _left_alone(scheduler, pod):
                    elsewhere[pod] = lost
                else:
                    waiting.append(pod)
        if not changed:
            break
        waiting.extend(left)
    return (left | elsewhere).values(), evicts


def _left_alone(scheduler: Scheduler, pod: int) -> SchedulingDecision | None:
    """What there is of a decision about a pod of a scheduler without a profile."""
    name = scheduler.problem.pods[pod].spec.scheduler_name
    return None if name in scheduler.schedulers else SchedulingDecision(pod, None, no_profile(name))
