"""Workloads that have no rollout of their own: a number of pods, kept up or cut down."""

from __future__ import annotations

from collections.abc import Iterable

from planner.errors import InternalError
from planner.rollout.controllers import Due, PodRun
from planner.rollout.replica_set import Replicas
from planner.rollout.world import World


class PlainRun(PodRun):
    """A ReplicaSet or ReplicationController of its own: pods keep their template."""

    def __init__(self, replicas: Replicas) -> None:
        super().__init__(replicas.slots)
        self.replicas = replicas

    @property
    def min_ready(self) -> Iterable[tuple[Iterable[int], int]]:
        """One number for all of its pods."""
        return [(self.pods, self.replicas.min_ready)]

    def due(self, world: World) -> Due:
        """The pods that lack, or those that are too many."""
        return self.replicas.due(world, [self.replicas])

    def sizes(self, world: World) -> tuple[int, int]:
        """No old revision, and the pods that it is asked for."""
        return 0, self.replicas.replicas

    def scale(self, replicas: int) -> None:
        """Ask for another number of replicas."""
        self.replicas.replicas = replicas

    def completes(self, world: World) -> bool:
        """Whether all pods wanted are there and available."""
        return (
            len(self.replicas.live(world)) == self.replicas.replicas == self.replicas.count_available(world)
        )


class RemovedRun(PodRun):
    """A workload that was deleted: the garbage collector takes its pods."""

    def due(self, world: World) -> Due:
        """All that are there."""
        return Due(gone=[pod for pod in self.pods if world.alive[pod]])

    def sizes(self, world: World) -> tuple[int, int]:
        """The pods that are left; there are no new ones."""
        return sum(bool(world.alive[pod]) for pod in self.pods), 0

    def scale(self, replicas: int) -> None:
        """Nothing makes pods for it any more."""
        raise InternalError(f"a workload that is removed was asked for {replicas} replicas")

    def completes(self, world: World) -> bool:
        """Whether none is left."""
        return not any(world.alive[pod] for pod in self.pods)
