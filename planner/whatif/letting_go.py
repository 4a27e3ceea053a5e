"""What lets a pod go that its budget holds: one more replica, or a budget of one more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from models import Cluster
from models.controllers.reconcile import workloads_of
from models.objects.custom_workload import spoken_to_kubectl
from models.objects.disruption import PodDisruptionBudget
from models.objects.pod import Pod
from models.objects.workload import Deployment, ReplicaSet, ReplicationController, StatefulSet
from planner.documents.explanation import FixChange
from planner.whatif.scaling import scale

#: A cluster that is only made when it is asked for.
Changed = Callable[[], Cluster]
_SCALED = Deployment | ReplicaSet | ReplicationController | StatefulSet


def one_replica_more(cluster: Cluster, pod: Pod) -> Iterator[tuple[Changed, FixChange]]:
    """One more replica of the pod's workload, which has to find room."""
    owner = workloads_of(cluster).above(pod)
    if not isinstance(owner, _SCALED):
        return
    kind, replicas = type(owner).__name__, owner.spec.replicas + 1
    name = f"{kind}/{owner.name}.{owner.namespace}"
    yield (
        lambda: _with_a_ready_replica(scale(cluster, name, replicas), pod),
        FixChange(
            action="scale",
            target=f"{kind}/{owner.name}",
            namespace=owner.namespace,
            summary=f"one more replica of {kind}/{owner.name}: {replicas}",
            command=f"kubectl scale {spoken_to_kubectl(owner)} -n {owner.namespace} --replicas={replicas}",
        ),
    )


def _with_a_ready_replica(cluster: Cluster, pod: Pod) -> Cluster:
    """The cluster whose budgets over a pod wait for the disruption controller to count the new replica."""
    budgets = tuple(_uncounted(item) if item.covers(pod) else item for item in cluster.pod_disruption_budgets)
    return replace(cluster, pod_disruption_budgets=budgets)


def _uncounted(budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """The budget with one more healthy pod to come: it allows what it did, and what that pod adds later."""
    if budget.status is None:
        return budget
    wanted = budget.status.desired_healthy
    percent = isinstance(budget.spec.min_available, str) or budget.spec.max_unavailable is not None
    status = budget.status.model_copy(
        update={
            "expected_pods": budget.status.expected_pods + 1,
            # With maxUnavailable, or a percentage, one pod more is also one more to be kept.
            "desired_healthy": wanted + 1 if percent else wanted,
        }
    )
    return budget.model_copy(update={"status": status})


def another_budget(cluster: Cluster, pod: Pod) -> Iterator[tuple[Changed, FixChange]]:
    """A budget that allows one pod more to be away."""
    for budget in cluster.pod_disruption_budgets:
        spec = budget.spec
        if not budget.covers(pod):
            continue
        if isinstance(spec.min_available, int) and spec.min_available > 0:
            update: dict[str, Any] = {"minAvailable": spec.min_available - 1}
        elif isinstance(spec.max_unavailable, int):
            update = {"maxUnavailable": spec.max_unavailable + 1}
        else:
            continue
        field, number = next(iter(update.items()))
        yield (
            partial(_with_budget, cluster, budget, field, number),
            FixChange(
                action="budget",
                target=f"PodDisruptionBudget/{budget.name}",
                namespace=budget.namespace,
                summary=f"PodDisruptionBudget {budget.name} with {field} {number}",
                patch={"spec": update},
            ),
        )


def _with_budget(cluster: Cluster, budget: PodDisruptionBudget, field: str, number: int) -> Cluster:
    name = "min_available" if field == "minAvailable" else "max_unavailable"
    changed = budget.model_copy(update={"spec": budget.spec.model_copy(update={name: number})})
    if budget.status is not None:
        status = budget.status.model_copy(
            update={
                "disruptions_allowed": budget.status.disruptions_allowed + 1,
                "desired_healthy": budget.status.desired_healthy - 1,
            }
        )
        changed = changed.model_copy(update={"status": status})
    budgets = tuple(changed if item is budget else item for item in cluster.pod_disruption_budgets)
    return replace(cluster, pod_disruption_budgets=budgets)
