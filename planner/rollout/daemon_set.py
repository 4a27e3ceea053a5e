"""A DaemonSet in a rollout: a pod on every node that it serves, replaced node by node.

With maxSurge the new pod comes first and the old one goes when it is ready; else the old one goes, as
many as maxUnavailable allows, and pods that are not ready go at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.objects.share import pods_of_share
from models.objects.workload import DaemonSet
from planner.rollout.deployment import Sync
from planner.rollout.world import World


@dataclass(slots=True)
class DaemonSetRun:
    """The controller of one DaemonSet; nodes are named by the pods that are meant for them."""

    owner: DaemonSet
    old: Mapping[str, int]
    """For every node the pod that runs there."""
    new: Mapping[str, int]
    """For every node that is to be served the pod of the wanted revision."""
    steps: list[Sync] = field(default_factory=list)
    least_ready: int | None = None

    @property
    def pods(self) -> list[int]:
        """Every pod that it has or may have."""
        return list(dict.fromkeys([*self.old.values(), *self.new.values()]))

    def sync(self, world: World) -> bool:
        """One turn of the controller."""
        changed = self._serve(world)
        if self.owner.spec.update_strategy.type != "OnDelete":
            changed |= self._update(world)
        if changed:
            self.steps.append(self._now(world))
        return changed

    def observe(self, world: World) -> None:
        """Remember the fewest pods that were ready."""
        ready = self._now(world).ready
        self.least_ready = ready if self.least_ready is None else min(self.least_ready, ready)

    def completes(self, world: World) -> bool:
        """Whether every node to be served has a ready pod, of the new revision unless OnDelete says no."""
        served = all(self._is_ready(world, node) for node in self.new)
        fresh = all(world.ready[pod] for pod in self.new.values())
        return served and (fresh or self.owner.spec.update_strategy.type == "OnDelete")

    def _now(self, world: World) -> Sync:
        old = sum(bool(world.alive[pod]) for node, pod in self.old.items() if self.new.get(node) != pod)
        new = sum(bool(world.alive[pod]) for pod in self.new.values())
        return Sync(old, new, sum(bool(world.ready[pod]) for pod in self.pods))

    def _of(self, world: World, node: str) -> tuple[int | None, int | None]:
        """The old and the new pod of a node, as far as they are there."""
        old, new = self.old.get(node), self.new.get(node)
        old = None if old == new else old
        return (
            old if old is not None and world.alive[old] else None,
            new if new is not None and world.alive[new] else None,
        )

    def _is_ready(self, world: World, node: str) -> bool:
        return any(pod is not None and world.ready[pod] for pod in self._of(world, node))

    def _serve(self, world: World) -> bool:
        """Make a pod where a node has none, and take those of nodes that are not to be served."""
        changed = False
        for node, pod in self.new.items():
            old, new = self._of(world, node)
            leaving = world.any_leaving([p for p in (self.old.get(node), pod) if p is not None])
            if old is None and new is None and not leaving:
                world.create(pod)
                changed = True
        for node, pod in self.old.items():
            if node not in self.new and world.alive[pod]:
                world.delete(pod)
                changed = True
        return changed

    def _margin(self, share: int | str | None, default: int) -> int:
        return default if share is None else pods_of_share(share, len(self.new), round_up=True)

    def _update(self, world: World) -> bool:
        rolling = self.owner.spec.update_strategy.rolling_update
        surge = self._margin(rolling.max_surge, 0)
        unavailable = self._margin(rolling.max_unavailable, 0 if surge else 1)
        return self._with_surge(world, surge, unavailable) if surge else self._in_place(world, unavailable)

    def _in_place(self, world: World, unavailable: int) -> bool:
        left = unavailable - sum(not self._is_ready(world, node) for node in self.new)
        changed = False
        for node in self.new:
            old, new = self._of(world, node)
            if old is None or new is not None:
                continue
            if world.ready[old]:
                if left <= 0:
                    continue
                left -= 1
            world.delete(old)
            changed = True
        return changed

    def _with_surge(self, world: World, surge: int, unavailable: int) -> bool:
        pairs = {node: self._of(world, node) for node in self.new}
        left = surge - sum(old is not None and new is not None for old, new in pairs.values())
        away = unavailable - sum(not self._is_ready(world, node) for node in self.new)
        changed = False
        for node, (old, new) in pairs.items():
            if old is None:
                continue
            if new is None and not world.ready[old] and away >= 0:
                world.delete(old)
                changed = True
            elif new is None and left > 0:
                left -= 1
                world.create(self.new[node])
                changed = True
            elif new is not None and world.ready[new]:
                world.delete(old)
                changed = True
        return changed
