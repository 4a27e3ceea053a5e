"""All HorizontalPodAutoscalers at their maximum at once: whose pods stay pending, and whose even alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from models import Cluster
from models.controllers.reconcile import workloads_of
from models.objects.workload import DaemonSet, Job, Workload
from planner.documents.capacity import AutoscalerCapacity
from planner.problem.problem import Problem
from planner.proof.clock import report_best
from planner.proof.effort import STANDARD
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.whatif.autoscaling import targets_of
from planner.whatif.named import workload_named
from planner.whatif.scaling import scale

#: How many pods of a workload stay pending, and the line about the first of them.
_Left = dict[str, tuple[int, str]]


def at_maximum(cluster: Cluster) -> Iterator[AutoscalerCapacity]:
    """A row for every autoscaler, those with the most pending pods first."""
    targets = [*targets_of(cluster)]
    together, largest = cluster, dict[str, int]()
    for _, workload, most in targets:
        largest[workload] = max(most, largest.get(workload, 0))
    for workload, most in largest.items():
        together = scale(together, workload, most)
    # One that takes pods away makes room for those of others.
    makes_room = any(_shrinks(workload_named(cluster, workload), most) for _, workload, most in targets)
    left, rows = _left(together) if targets else {}, []
    for number, (scaler, workload, most) in enumerate(targets):
        report_best(f"{number} of {len(targets)} autoscalers")
        pending, message = left.get(workload, (0, ""))
        alone = 0
        if pending or makes_room or most < largest[workload]:
            alone, _ = _left(scale(cluster, workload, most)).get(workload, (0, ""))
        rows.append(
            AutoscalerCapacity(
                namespace=scaler.namespace,
                name=scaler.name,
                workload=workload.rpartition(".")[0] or workload,
                max_replicas=most,
                pending=pending,
                alone=alone,
                message=message,
            )
        )
    yield from sorted(rows, key=lambda row: (-row.pending, row.namespace, row.name))


def _shrinks(workload: Workload, most: int) -> bool:
    """Whether a workload has more replicas than so many."""
    return not isinstance(workload, DaemonSet | Job) and workload.spec.replicas > most


def _left(cluster: Cluster) -> _Left:
    """The pods that stay pending, by their workload."""
    problem, owners = Problem(cluster), workloads_of(cluster)
    left: _Left = {}
    for decision in _unplaced(Scheduler(problem)):
        workload = owners.above(problem.pods[decision.pod])
        if workload is not None:
            name = f"{workload.kind}/{workload.name}.{workload.namespace}"
            pods, message = left.get(name, (0, decision.message))
            left[name] = (pods + 1, message)
    return left


def _unplaced(scheduler: Scheduler) -> Iterable[SchedulingDecision]:
    """What is decided about the pods that are left without a node once all is at rest.

    Pods that are preempted come back behind all others where a controller makes them again, and those that
    are refused are tried again as long as pods come or go.
    """
    scheduler.restore_nominations(scheduler.queue)
    waiting, left = deque(scheduler.queue), dict[int, SchedulingDecision]()
    for _ in range(STANDARD.explain.rounds_to_rest):
        changed = False
        while waiting:
            decision = scheduler.take(waiting.popleft())
            scheduler.state.forget_history()
            left.pop(decision.pod, None)
            if decision.node is None:
                left[decision.pod] = decision
            changed |= decision.node is not None or bool(decision.victims)
            waiting.extend(pod for pod in decision.victims if _comes_back(scheduler, pod))
        if not changed:
            break
        waiting.extend(left)
    return left.values()


def _comes_back(scheduler: Scheduler, pod: int) -> bool:
    return scheduler.problem.pods[pod].metadata.controller is not None
