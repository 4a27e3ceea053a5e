"""A DaemonSet in a rollout: a pod on every node that it serves, replaced node by node.

With maxSurge the new pod comes first and the old one goes when it is ready; else the old one goes, as
many as maxUnavailable allows, and pods that are not ready go at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from models.objects.share import pods_of_share
from models.objects.workload import DaemonSet
from planner.errors import InternalError
from planner.rollout.controllers import Due, PodRun
from planner.rollout.world import World


class DaemonSetRun(PodRun):
    """The controller of one DaemonSet; nodes are named by the pods that are meant for them."""

    def __init__(self, owner: DaemonSet, old: Mapping[str, int], new: Mapping[str, int]) -> None:
        """For every node the pod that runs there, and for every node to be served the wanted one."""
        super().__init__([*old.values(), *new.values()])
        self.owner, self.old, self.new = owner, old, new

    def due(self, world: World) -> Due:
        """Pods for nodes without one, away with those of nodes not to be served; then old ones go."""
        due = Due()
        self._serve(world, due)
        if self.owner.spec.update_strategy.type != "OnDelete":
            self._update(world, due)
        return due

    def scale(self, replicas: int) -> None:
        """A DaemonSet has a pod on every node that it serves, not a number of them."""
        raise InternalError(f"DaemonSet {self.owner.key} was asked for {replicas} replicas")

    def completes(self, world: World) -> bool:
        """Whether every node to be served has a ready pod, of the new revision unless OnDelete says no."""
        served = all(self._is_ready(world, node) for node in self.new)
        fresh = all(world.ready[pod] for pod in self.new.values())
        return served and (fresh or self.owner.spec.update_strategy.type == "OnDelete")

    def sizes(self, world: World) -> tuple[int, int]:
        """The pods that are there of the old revision and of the new one."""
        old = sum(bool(world.alive[pod]) for node, pod in self.old.items() if self.new.get(node) != pod)
        return old, sum(bool(world.alive[pod]) for pod in self.new.values())

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

    def _serve(self, world: World, due: Due) -> None:
        for node, pod in self.new.items():
            old, new = self._of(world, node)
            leaving = world.any_leaving([p for p in (self.old.get(node), pod) if p is not None])
            if old is None and new is None and not leaving:
                due.made.append(pod)
        due.gone += [pod for node, pod in self.old.items() if node not in self.new and world.alive[pod]]

    def _in_any_order(self, world: World) -> list[str]:
        """The nodes to be served; the controller has them in a map, and goes through it as it comes."""
        nodes = list(self.new)
        world.shuffle(nodes)
        return nodes

    def _margin(self, share: int | str | None, default: int) -> int:
        return default if share is None else pods_of_share(share, len(self.new), round_up=True)

    def _update(self, world: World, due: Due) -> None:
        rolling = self.owner.spec.update_strategy.rolling_update
        surge = self._margin(rolling.max_surge, 0)
        unavailable = self._margin(rolling.max_unavailable, 0 if surge else 1)
        if surge:
            self._with_surge(world, due, surge, unavailable)
        else:
            self._in_place(world, due, unavailable)

    def _in_place(self, world: World, due: Due, unavailable: int) -> None:
        left = unavailable - sum(not self._is_ready(world, node) for node in self.new)
        for node in self._in_any_order(world):
            old, new = self._of(world, node)
            if old is None or new is not None:
                continue
            if world.ready[old]:
                if left <= 0:
                    continue
                left -= 1
            due.gone.append(old)

    def _with_surge(self, world: World, due: Due, surge: int, unavailable: int) -> None:
        pairs = {node: self._of(world, node) for node in self._in_any_order(world)}
        left = surge - sum(old is not None and new is not None for old, new in pairs.values())
        away = unavailable - sum(not self._is_ready(world, node) for node in self.new)
        for node, (old, new) in pairs.items():
            if old is None:
                continue
            if new is None and not world.ready[old] and away >= 0:
                due.gone.append(old)
            elif new is None and left > 0:
                left -= 1
                due.made.append(self.new[node])
            elif new is not None and world.ready[new]:
                due.gone.append(old)
