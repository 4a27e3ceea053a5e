"""A Deployment in a rollout: its ReplicaSets sized step by step, as its controller does at every sync."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from models.objects.workload import Deployment
from planner.simulation.rollout.arithmetic import Margins, rolled, shares
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import Controller, ControllerRun
from planner.simulation.rollout.replica_set import ReplicaSetController, Revision

Sizes = Iterable[tuple[Revision, int]]


class DeploymentRun(ControllerRun, Controller):
    """The controller of one Deployment, and those of its ReplicaSets."""

    def __init__(
        self,
        deployment: Deployment,
        old: Sequence[Revision],
        new: Revision,
        *,
        exists: bool,
        terminating: Sequence[int] = (),
    ) -> None:
        """`old` are the ReplicaSets of other templates, oldest first; `new` may have to be made first.

        `terminating` are pods of the old ones that were told to go before this begins.
        """
        super().__init__(pod for item in (*old, new) for pod in item.slots)
        self.deployment, self.old, self.new = deployment, old, new
        self._exists, self._terminating = exists, terminating
        self._below = {id(item): ReplicaSetController(item, self.sets, (self,)) for item in self.sets}

    @property
    def sets(self) -> list[Revision]:
        """All of its ReplicaSets, the oldest first."""
        return [*self.old, self.new]

    @property
    def controllers(self) -> Sequence[Controller]:
        """The Deployment's, and one for each ReplicaSet."""
        return (self, *self._below.values())

    @property
    def watched(self) -> Iterable[int]:
        """With Recreate, the pods of which the last has to end before new ones are made."""
        recreates = self.deployment.spec.strategy.type == "Recreate"
        return self._old_pods if recreates else ()

    @property
    def _old_pods(self) -> list[int]:
        return [*(pod for item in self.old for pod in item.slots), *self._terminating]

    @property
    def min_ready(self) -> Iterable[tuple[Iterable[int], int]]:
        """Every ReplicaSet says it of its own pods."""
        return [(item.slots, item.min_ready) for item in self.sets]

    @property
    def margins(self) -> Margins:
        """How far it may go beyond what is wanted, and how far below."""
        return Margins.of(self.deployment.spec.strategy, self.deployment.spec.replicas)

    def scale(self, replicas: int) -> None:
        self.deployment = self.deployment.changed("spec", replicas=replicas)

    def reconcile(self, simulation: ClusterSimulation) -> Iterator[Sequence[Controller]]:
        """Size the ReplicaSets anew, one write for each."""
        for item, size in self._resized(simulation):
            item.replicas = size
            item.desired = self.deployment.spec.replicas
            item.most = item.desired + self.margins.surge
            # A ReplicaSet that shrinks takes those that are not ready first.
            ready = sum(min(one.count_ready(simulation), one.replicas) for one in self.sets)
            self.note(sum(old.replicas for old in self.old), self.new.replicas, ready)
            yield (self, self._below[id(item)])

    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether all pods wanted are there, of the new revision, and available."""
        if self.deployment.spec.paused:
            ready = sum(item.count_available(simulation) for item in self.sets)
            return not list(self._resized(simulation)) and ready >= self.deployment.spec.replicas
        gone = not any(len(item.live(simulation)) for item in self.old)
        return (
            gone
            and self.new.count_available(simulation) == self.new.replicas == self.deployment.spec.replicas
        )

    def _resized(self, simulation: ClusterSimulation) -> Sizes:
        """The ReplicaSets whose size is to change now."""
        wanted: Sizes = ()
        if self._was_scaled() or self.deployment.spec.paused:
            wanted = [(item, size) for item, size in self._scaled(simulation) if item.replicas != size]
            if wanted or self.deployment.spec.paused:
                return wanted
        if self.deployment.spec.strategy.type == "Recreate":
            wanted = self._recreated(simulation)
        else:
            wanted = self._rolled(simulation)
        return [(item, size) for item, size in wanted if item.replicas != size]

    def _was_scaled(self) -> bool:
        """Whether an active ReplicaSet was sized for another number of replicas."""
        known = {None, self.deployment.spec.replicas}
        return any(item.replicas and item.desired not in known for item in self.sets)

    def _rolled(self, simulation: ClusterSimulation) -> Sizes:
        there = self.new.size(simulation) if self._exists else None
        self._exists = True
        old = [item.size(simulation) for item in self.old]
        size, sizes = rolled(self.deployment.spec.replicas, self.margins, there, old)
        return [(self.new, size), *zip(self.old, sizes, strict=True)]

    def _recreated(self, simulation: ClusterSimulation) -> Sizes:
        if any(item.replicas for item in self.old):
            return [(item, 0) for item in self.old]
        if any(len(item.live(simulation)) for item in self.old):
            return []
        if any(map(simulation.is_running_on, self._old_pods)):
            return []
        self._exists = True
        return [(self.new, self.deployment.spec.replicas)]

    def _is_saturated(self, simulation: ClusterSimulation) -> bool:
        """Whether the new ReplicaSet was made as large as is wanted, and all of its pods are available."""
        size, wanted = self.new.size(simulation), self.deployment.spec.replicas
        return self._exists and self.new.desired == size.replicas == size.available == wanted

    def _scaled(self, simulation: ClusterSimulation) -> Sizes:
        """Another number of replicas: all to one ReplicaSet, or to each its part."""
        wanted = self.deployment.spec.replicas
        if not (self._exists or self.old):
            # It is paused, and only a rollout makes the first ReplicaSet.
            return []
        active = [item for item in self.sets if item.replicas]
        if len(active) <= 1:
            only = (active or [self.new if self._exists else self.sets[-2 if self.old else -1]])[0]
            only.desired = wanted
            return [(only, wanted)]
        if self._is_saturated(simulation):
            return [(item, 0) for item in self.old]
        surge = self.margins.surge if self.deployment.spec.strategy.type == "RollingUpdate" else 0
        grows = wanted + surge > sum(item.replicas for item in active)
        # Larger ones first; of equal ones the newer when growing, the older when shrinking.
        ordered = sorted(active[::-1] if grows else active, key=lambda item: -item.replicas)
        sizes = shares(wanted, surge, [item.replicas for item in ordered], [item.most for item in ordered])
        for item in ordered:
            item.desired, item.most = wanted, wanted + self.margins.surge
        return list(zip(ordered, sizes, strict=True))
