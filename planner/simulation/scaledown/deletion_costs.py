"""How to make a controller take certain replicas: what its deletion costs decide, and what they do not.

A ReplicaSet takes pods without a node, then pods that do not run, then pods that are not ready; only
among the rest it looks at `controller.kubernetes.io/pod-deletion-cost`.  StatefulSets and Jobs never do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from models import Cluster
from models.objects.annotations import DELETION_COST
from models.objects.pod import Pod
from models.objects.workload import Deployment, ReplicaSet, ReplicationController, Workload
from planner.whatif.scaling import Replicas
from planner.whatif.victims import tier

_LOWEST = -(2**31)


def heeds_deletion_costs(workload: Workload) -> bool:
    """Whether deletion costs decide which of its pods go."""
    return isinstance(workload, Deployment | ReplicaSet | ReplicationController)


@dataclass(frozen=True, slots=True)
class Share:
    """What one controller has to give up: some pods in any case, and so many of others."""

    replicas: Replicas
    forced: tuple[Pod, ...]
    open: Replicas

    @classmethod
    def of(cls, replicas: Replicas) -> Share:
        """The pods of the last tier that has to give some are open; without annotations they all are."""
        if not replicas.going or not heeds_deletion_costs(replicas.controller):
            return cls(replicas, (), replicas)
        last = tier(replicas.victims[-1])
        forced = tuple(pod for pod in replicas.victims if tier(pod) < last)
        alike = tuple(pod for pod in replicas.pods if tier(pod) == last)
        return cls(replicas, forced, Replicas(replicas.controller, alike, replicas.going - len(forced)))

    def costs(self, victims: Collection[str]) -> Iterator[tuple[Pod, int]]:
        """The deletion costs with which the controller takes these of the open pods."""
        going = [pod for pod in self.open.pods if pod.key in victims]
        staying = [pod for pod in self.open.pods if pod.key not in victims]
        if not going or not staying or not heeds_deletion_costs(self.replicas.controller):
            return
        cost = max(_LOWEST, min(pod.deletion_cost for pod in staying) - 1)
        yield from ((pod, cost) for pod in going)
        # Where there is no lower number left, those that stay get a higher one.
        yield from ((pod, cost + 1) for pod in staying if pod.deletion_cost <= cost)


def annotated(cluster: Cluster, costs: Iterable[tuple[Pod, int]]) -> Cluster:
    """The cluster with these deletion costs on its pods."""
    cost_of = {pod.key: str(cost) for pod, cost in costs}

    def priced(pod: Pod) -> Pod:
        if pod.key not in cost_of:
            return pod
        annotations = {**pod.metadata.annotations, DELETION_COST: cost_of[pod.key]}
        return pod.changed("metadata", annotations=annotations)

    return replace(cluster, pods=tuple(map(priced, cluster.pods)))
