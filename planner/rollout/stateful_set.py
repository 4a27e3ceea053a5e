"""A StatefulSet in a rollout: numbered pods, made from the lowest, replaced from the highest.

With OrderedReady every step waits until all lower pods are ready; with Parallel only the replacement
does.  Pods below `partition` keep their revision; with OnDelete nobody is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.objects.share import pods_of_share
from models.objects.workload import StatefulSet
from planner.rollout.deployment import Sync
from planner.rollout.world import World


@dataclass(slots=True)
class StatefulSetRun:
    """The controller of one StatefulSet."""

    owner: StatefulSet
    old: Mapping[int, int]
    """For every ordinal the pod of the revision that runs."""
    new: Mapping[int, int]
    """For every ordinal the pod of the revision that is wanted; the same pods where nothing changes."""
    steps: list[Sync] = field(default_factory=list)
    least_ready: int | None = None

    @property
    def pods(self) -> list[int]:
        """Every pod that it has or may have."""
        return list(dict.fromkeys([*self.old.values(), *self.new.values()]))

    @property
    def _wanted(self) -> range:
        start = self.owner.spec.ordinals.start
        return range(start, start + self.owner.spec.replicas)

    @property
    def _first_updated(self) -> int:
        strategy = self.owner.spec.update_strategy
        if strategy.type == "OnDelete":
            return self._wanted.stop
        return self._wanted.start + strategy.rolling_update.partition

    @property
    def _most_unavailable(self) -> int:
        share = self.owner.spec.update_strategy.rolling_update.max_unavailable
        replicas = self.owner.spec.replicas
        return 1 if share is None else max(1, pods_of_share(share, replicas, round_up=True))

    def sync(self, world: World) -> bool:
        """One turn of the controller."""
        changed = self._sync(world)
        if changed:
            self.steps.append(self._now(world))
        return changed

    def observe(self, world: World) -> None:
        """Remember the fewest pods that were ready."""
        ready = self._now(world).ready
        self.least_ready = ready if self.least_ready is None else min(self.least_ready, ready)

    def completes(self, world: World) -> bool:
        """Whether all pods wanted are there and ready, those that may be of the new revision."""
        current = [self._current(world, ordinal) for ordinal in self._wanted]
        surplus = [n for n in self._known() if n not in self._wanted and self._current(world, n) is not None]
        ready = all(pod is not None and world.ready[pod] for pod in current)
        fresh = all(self._is_fresh(world, ordinal) for ordinal in self._wanted)
        return ready and fresh and not surplus

    def _is_fresh(self, world: World, ordinal: int) -> bool:
        return ordinal < self._first_updated or self._current(world, ordinal) == self.new.get(ordinal)

    def _now(self, world: World) -> Sync:
        fresh = set(self.new.values())
        live = [pod for pod in self.pods if world.alive[pod]]
        new = sum(pod in fresh for pod in live)
        return Sync(len(live) - new, new, sum(bool(world.ready[pod]) for pod in live))

    def _known(self) -> list[int]:
        return sorted({*self.old, *self.new})

    def _current(self, world: World, ordinal: int) -> int | None:
        """The pod of an ordinal that is there, of whichever revision."""
        found = (table.get(ordinal) for table in (self.new, self.old))
        return next((pod for pod in found if pod is not None and world.alive[pod]), None)

    def _is_leaving(self, world: World, ordinal: int) -> bool:
        found = [table[ordinal] for table in (self.new, self.old) if ordinal in table]
        return world.any_leaving(found)

    def _sync(self, world: World) -> bool:
        ordered = self.owner.spec.pod_management_policy == "OrderedReady"
        made = False
        for ordinal in self._wanted:
            found = self._current(world, ordinal)
            if found is None and not self._is_leaving(world, ordinal):
                old = ordinal < self._first_updated and ordinal in self.old
                world.create(self.old[ordinal] if old else self.new[ordinal])
                made = True
                if ordered:
                    return True
            elif ordered and (found is None or not world.ready[found]):
                return made
        return made or self._take_surplus(world, ordered) or self._update(world)

    def _take_surplus(self, world: World, ordered: bool) -> bool:
        """Whoever is beyond the wanted number goes, the highest first."""
        taken = False
        for ordinal in [n for n in reversed(self._known()) if n not in self._wanted]:
            found = self._current(world, ordinal)
            if found is None:
                if ordered and self._is_leaving(world, ordinal):
                    break
                continue
            world.delete(found)
            taken = True
            if ordered:
                break
        return taken

    def _update(self, world: World) -> bool:
        """Pods of the old revision go from the highest, as many as may be unavailable."""
        current = {ordinal: self._current(world, ordinal) for ordinal in self._wanted}
        away = sum(pod is None or not world.ready[pod] for pod in current.values())
        left = self._most_unavailable - away
        deleted = False
        for ordinal in reversed(self._wanted):
            pod = current[ordinal]
            if ordinal < self._first_updated or left < 0:
                break
            if pod is None or pod == self.new.get(ordinal):
                continue
            if world.ready[pod]:
                if left <= 0:
                    break
                left -= 1
            world.delete(pod)
            deleted = True
        return deleted
