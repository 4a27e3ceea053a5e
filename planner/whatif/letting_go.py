"""What makes a budget allow the eviction of a pod: one more replica, or a budget of one more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from models import Cluster
from models.controllers.reconcile import workloads_of
from models.objects.custom_workload import kubectl_name
from models.objects.disruption import PodDisruptionBudget
from models.objects.pod import Pod
from planner.documents.explanation import FixChange
from planner.eviction.budgets import ExpectedPods, Scaled, desired
from planner.whatif.scaling import scale

#: A cluster that is only made when it is asked for.
Changed = Callable[[], Cluster]


def one_replica_more(cluster: Cluster, pod: Pod) -> Iterator[tuple[Changed, FixChange]]:
    """One more replica of the pod's workload, which has to find room."""
    owner = workloads_of(cluster).above(pod)
    if not isinstance(owner, Scaled):
        return
    name, target, replicas = owner.full_name, f"{owner.kind}/{owner.name}", owner.spec.replicas + 1
    yield (
        lambda: _with_a_ready_replica(scale(cluster, name, replicas), pod),
        FixChange(
            action="scale",
            target=target,
            namespace=owner.namespace,
            summary=f"one more replica of {target}: {replicas}",
            command=f"kubectl scale {kubectl_name(owner)} -n {owner.namespace} --replicas={replicas}",
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
    # With maxUnavailable, or a percentage, one pod more is also one more to be kept.
    kept = wanted + 1 if percent else wanted
    return budget.changed("status", expected_pods=budget.status.expected_pods + 1, desired_healthy=kept)


class OtherBudgets:
    """The budgets of a cluster, each so that one pod more may be away."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[str, str], tuple[str, int] | None] = {}

    def of(self, pod: Pod) -> Iterator[tuple[Changed, FixChange]]:
        """Those that cover a pod, one instead of the one there is."""
        for budget in self._cluster.pod_disruption_budgets:
            found = self._one_more_away(budget) if budget.covers(pod) else None
            if found is None:
                continue
            field, number = found
            yield (
                partial(_with_budget, self._cluster, budget, field, number),
                FixChange(
                    action="budget",
                    target=f"PodDisruptionBudget/{budget.name}",
                    namespace=budget.namespace,
                    summary=f"PodDisruptionBudget {budget.name} with {field} {number}",
                    patch={"spec": {field: number}},
                ),
            )

    def _one_more_away(self, budget: PodDisruptionBudget) -> tuple[str, int] | None:
        key = budget.namespace, budget.name
        if key not in self._known:
            self._known[key] = _one_more_away(self._cluster, budget)
        return self._known[key]


def _one_more_away(cluster: Cluster, budget: PodDisruptionBudget) -> tuple[str, int] | None:
    """The field of a budget and the number with which one pod more may be away; None where there is none.

    In place of a percentage comes the number that it amounts to now.
    """
    wanted, most, status = budget.spec.min_available, budget.spec.max_unavailable, budget.status
    if budget.spec.asks_nothing:
        return "maxUnavailable", 1
    if most is None:
        kept = wanted if isinstance(wanted, int) else _kept(cluster, budget)
        return ("minAvailable", kept - 1) if kept else None
    if isinstance(most, int):
        return "maxUnavailable", most + 1
    away = _expected(cluster, budget) if status is None else status.expected_pods
    return "maxUnavailable", away - _kept(cluster, budget) + 1


def _kept(cluster: Cluster, budget: PodDisruptionBudget) -> int:
    """How many pods a budget keeps: as its controller has told, or else would."""
    if budget.status is not None:
        return budget.status.desired_healthy
    return desired(budget, _expected(cluster, budget))


def _expected(cluster: Cluster, budget: PodDisruptionBudget) -> int:
    expected = ExpectedPods(cluster)
    for pod in cluster.pods:
        if budget.covers(pod):
            expected.add(0, pod)
    return expected.of(0, budget)


def _with_budget(cluster: Cluster, budget: PodDisruptionBudget, field: str, number: int) -> Cluster:
    name = "min_available" if field == "minAvailable" else "max_unavailable"
    changed, status = budget.changed("spec", **{name: number}), budget.status
    if status is not None:
        allowed, wanted = status.disruptions_allowed + 1, status.desired_healthy - 1
        changed = changed.changed("status", disruptions_allowed=allowed, desired_healthy=wanted)
    budgets = tuple(changed if item is budget else item for item in cluster.pod_disruption_budgets)
    return replace(cluster, pod_disruption_budgets=budgets)
