"""Workloads that have no rollout of their own: a number of pods, kept up or cut down."""

from __future__ import annotations

from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import Due, PodRun
from planner.simulation.rollout.replica_set import Revision


class PlainRun(PodRun):
    """A ReplicaSet or ReplicationController of its own: pods keep their template."""

    def __init__(self, replicas: Revision) -> None:
        super().__init__(replicas.slots, min_ready_seconds=replicas.min_ready)
        self.replicas = replicas

    def due(self, simulation: ClusterSimulation) -> Due:
        """The pods that lack, or those that are too many."""
        return self.replicas.due(simulation, ())

    def sizes(self, simulation: ClusterSimulation) -> tuple[int, int]:
        """No old revision, and the pods that it is asked for."""
        return 0, self.replicas.replicas

    def scale(self, replicas: int) -> None:
        """Ask for another number of replicas."""
        self.replicas.replicas = replicas

    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether all pods wanted are there and available."""
        return (
            len(self.replicas.live(simulation))
            == self.replicas.replicas
            == self.replicas.count_available(simulation)
        )


class RemovedRun(PodRun):
    """A workload that was deleted: the garbage collector takes its pods."""

    def due(self, simulation: ClusterSimulation) -> Due:
        """All that are there."""
        return Due(gone=[pod for pod in self.pods if simulation.alive[pod]])

    def sizes(self, simulation: ClusterSimulation) -> tuple[int, int]:
        """The pods that are left; there are no new ones."""
        return sum(bool(simulation.alive[pod]) for pod in self.pods), 0

    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether none is left."""
        return not any(simulation.alive[pod] for pod in self.pods)
