"""How many pods should be there under a budget, as the disruption controller counts them.

For `maxUnavailable` and percentages it adds up the replicas that the controllers of the budget's pods ask
for: of the Deployment, or of the ReplicaSet, ReplicationController or StatefulSet.  A pod that is
Terminating is no pod more.  Deliberate difference: pods without a controller and those of one without
replicas (Jobs, DaemonSets), for which it counts none or gives up, and pods whose controller is not known,
count themselves.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from models import Cluster
from models.controllers.owners import Workloads, is_live
from models.controllers.reconcile import workloads_of
from models.objects.disruption import PodDisruptionBudget
from models.objects.pod import Pod
from models.objects.workload import Deployment, ReplicaSet, ReplicationController, StatefulSet

#: The workloads that ask for a number of pods.
Scaled = Deployment | ReplicaSet | ReplicationController | StatefulSet


class ExpectedPods:
    """The replicas that are expected under each of some budgets, while their pods are added."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._scales: dict[int, dict[tuple[str, str], int]] = defaultdict(dict)
        self._others: dict[int, int] = defaultdict(int)
        self._all: dict[int, int] = defaultdict(int)

    def add(self, budget: int, pod: Pod) -> None:
        """A pod that the budget of this number covers."""
        self._all[budget] += 1
        scaled = self._scaled(pod)
        if scaled is not None:
            self._scales[budget][scaled.kind, scaled.key] = scaled.spec.replicas
        else:
            self._others[budget] += is_live(pod)

    def of(self, number: int, budget: PodDisruptionBudget) -> int:
        """How many pods should be there; with a number of pods that must stay, those that are."""
        if budget.spec.asks_nothing:
            return 0
        if budget.spec.max_unavailable is None and isinstance(budget.spec.min_available, int):
            return self._all[number]
        return sum(self._scales[number].values()) + self._others[number]

    @cached_property
    def _workloads(self) -> Workloads:
        return workloads_of(self._cluster)

    def _scaled(self, pod: Pod) -> Scaled | None:
        """The workload whose replicas count; None where it is not known, or asks for no number."""
        owner, above = self._workloads.controller_of(pod), self._workloads.above(pod)
        # The replicas of any other kind of owner of a ReplicaSet are not looked at.
        asked = (above, owner) if above is not None and above.kind == "Deployment" else (owner,)
        for item in asked:
            if isinstance(item, Scaled) and "replicas" in item.spec.model_fields_set:
                return item
        return None
