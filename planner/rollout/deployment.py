"""A Deployment in a rollout: its ReplicaSets sized step by step, as its controller does at every sync."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from models.objects.workload import Deployment
from planner.rollout.arithmetic import Margins, new_size, old_sizes, shares
from planner.rollout.replica_set import Replicas
from planner.rollout.world import World


@dataclass(frozen=True, slots=True)
class Sync:
    """The sizes after a sync: pods asked for of old revisions and of the new one, and all that are ready."""

    old: int
    new: int
    ready: int


@dataclass(slots=True)
class DeploymentRun:
    """The controller of one Deployment, and of its ReplicaSets."""

    deployment: Deployment
    old: Sequence[Replicas]
    """The ReplicaSets of other templates, the oldest first."""
    new: Replicas
    exists: bool
    """Whether the ReplicaSet of the wanted template is there already."""
    steps: list[Sync] = field(default_factory=list)
    least_ready: int | None = None

    @property
    def sets(self) -> list[Replicas]:
        """All of its ReplicaSets, the oldest first."""
        return [*self.old, self.new]

    @property
    def margins(self) -> Margins:
        """How far it may go beyond what is wanted, and how far below."""
        return Margins.of(self.deployment.spec.strategy, self.deployment.spec.replicas)

    @property
    def pods(self) -> list[int]:
        """Every pod that it has or may have."""
        return [pod for item in self.sets for pod in item.slots]

    def sync(self, world: World) -> bool:
        """One turn of the Deployment controller, then of the ReplicaSet controller."""
        resized = self._resize(world)
        if resized:
            self.steps.append(self._now(world))
        moved = [item.sync(world, self.sets) for item in self.sets]
        return resized or any(moved)

    def observe(self, world: World) -> None:
        """Remember the fewest pods that were ready."""
        ready = sum(bool(world.ready[pod]) for pod in self.pods)
        self.least_ready = ready if self.least_ready is None else min(self.least_ready, ready)

    def _now(self, world: World) -> Sync:
        ready = sum(item.size(world).available for item in self.sets)
        return Sync(sum(item.replicas for item in self.old), self.new.replicas, ready)

    def completes(self, world: World) -> bool:
        """Whether all pods wanted are there, of the new revision, and ready."""
        wanted = self.deployment.spec.replicas
        if self.deployment.spec.paused:
            return not self._resize(world)
        live = [pod for item in self.old for pod in item.live(world)]
        return not live and self.new.size(world).available == wanted == self.new.replicas

    def _resize(self, world: World) -> bool:
        before = [item.replicas for item in self.sets]
        if self._was_scaled() or self.deployment.spec.paused:
            self._scale()
        elif self.deployment.spec.strategy.type == "Recreate":
            self._recreate(world)
        else:
            self._roll(world)
        for item in self.sets:
            if item.replicas:
                item.desired = self.deployment.spec.replicas
                item.most = item.desired + self.margins.surge
        return before != [item.replicas for item in self.sets]

    def _was_scaled(self) -> bool:
        """Whether an active ReplicaSet was sized for another number of replicas."""
        known = {None, self.deployment.spec.replicas}
        return any(item.replicas and item.desired not in known for item in self.sets)

    def _roll(self, world: World) -> None:
        wanted, margins = self.deployment.spec.replicas, self.margins
        total = sum(item.replicas for item in self.sets)
        if not self.exists or self.new.replicas != wanted:
            self.exists = True
            before = self.new.replicas
            self.new.replicas = (
                min(wanted, before) if before > wanted else new_size(wanted, margins, before, total)
            )
            if self.new.replicas != before:
                return
        sizes = old_sizes(wanted, margins, self.new.size(world), [item.size(world) for item in self.old])
        for item, size in zip(self.old, sizes, strict=True):
            item.replicas = size

    def _recreate(self, world: World) -> None:
        for item in self.old:
            item.replicas = 0
        if any(item.live(world) or world.any_leaving(item.slots) for item in self.old):
            return
        self.exists = True
        self.new.replicas = self.deployment.spec.replicas

    def _scale(self) -> None:
        """Another number of replicas: all to one ReplicaSet, or to each its part."""
        wanted = self.deployment.spec.replicas
        active = [item for item in self.sets if item.replicas]
        if len(active) <= 1:
            (active or [self.new if self.exists else self.sets[-2 if self.old else -1]])[0].replicas = wanted
            return
        if self.new.replicas == wanted:
            for item in self.old:
                item.replicas = 0
            return
        surge = self.margins.surge if self.deployment.spec.strategy.type == "RollingUpdate" else 0
        grows = wanted + surge > sum(item.replicas for item in active)
        # Larger ones first; of equal ones the newer when growing, the older when shrinking.
        dealt = sorted(active[::-1] if grows else active, key=lambda item: -item.replicas)
        sizes = shares(wanted, surge, [item.replicas for item in dealt], [item.most for item in dealt])
        for item, size in zip(dealt, sizes, strict=True):
            item.replicas = size
