"""Workloads that have no rollout of their own: a number of pods, kept up or cut down."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.rollout.deployment import Sync
from planner.rollout.replica_set import Replicas
from planner.rollout.world import World


@dataclass(slots=True)
class PlainRun:
    """A ReplicaSet or ReplicationController of its own, a Job, or bare pods: pods keep their template."""

    replicas: Replicas
    steps: list[Sync] = field(default_factory=list)
    least_ready: int | None = None

    @property
    def pods(self) -> list[int]:
        """Every pod that it has or may have."""
        return list(self.replicas.slots)

    def sync(self, world: World) -> bool:
        """One turn of the controller."""
        changed = self.replicas.sync(world, [self.replicas])
        if changed:
            self.steps.append(Sync(0, self.replicas.replicas, self.replicas.size(world).available))
        return changed

    def observe(self, world: World) -> None:
        """Remember the fewest pods that were ready."""
        ready = self.replicas.size(world).available
        self.least_ready = ready if self.least_ready is None else min(self.least_ready, ready)

    def completes(self, world: World) -> bool:
        """Whether all pods wanted are there and ready."""
        live = self.replicas.live(world)
        return len(live) == self.replicas.replicas == self.replicas.size(world).available
