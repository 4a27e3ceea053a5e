"""Workloads that have no rollout of their own: a number of pods, kept up or cut down."""

from __future__ import annotations

from planner.rollout.controllers import Due, PodRun
from planner.rollout.replica_set import Replicas
from planner.rollout.world import World


class PlainRun(PodRun):
    """A ReplicaSet or ReplicationController of its own, or a Job: pods keep their template."""

    def __init__(self, replicas: Replicas) -> None:
        super().__init__(replicas.slots)
        self.replicas = replicas

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
        """Whether all pods wanted are there and ready."""
        return len(self.replicas.live(world)) == self.replicas.replicas == self.replicas.count_ready(world)
