"""A ReplicaSet in a rollout: as many pods as it is asked for, made when they lack, taken when too many.

Which pods go first is the ranking of `planner.whatif.victims`, for pods that mostly came a moment ago.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.errors import InternalError
from planner.rollout.arithmetic import Size
from planner.rollout.world import World


class Rank(NamedTuple):
    """What a ReplicaSet ranks a pod by, besides its node: times are logarithms of how long ago they were."""

    cost: int
    ready: int
    restarts: int
    created: int
    uid: float


@dataclass(slots=True)
class Replicas:
    """One revision: the pods that it has or may have, and how many of them it is asked for."""

    name: str
    slots: Sequence[int]
    replicas: int
    desired: int | None = None
    most: int | None = None
    """How many pods its Deployment wanted, and could have had, when this was last sized."""
    ranks: Mapping[int, Rank] = field(default_factory=dict)
    """How pods of the snapshot are ranked; those that come later count as just made."""

    def live(self, world: World) -> list[int]:
        """The pods that are there and were not told to go."""
        return [pod for pod in self.slots if world.alive[pod]]

    def size(self, world: World) -> Size:
        """What it is asked for, and how many of its pods are available."""
        return Size(self.replicas, sum(bool(world.ready[pod]) for pod in self.slots))

    def sync(self, world: World, family: Sequence[Replicas]) -> bool:
        """Make what lacks or take what is too much; whether anything had to be done."""
        live = self.live(world)
        if len(live) < self.replicas:
            return self._create(world, self.replicas - len(live))
        if len(live) > self.replicas:
            for pod in self._first_to_go(world, live, family)[: len(live) - self.replicas]:
                world.delete(pod)
            return True
        return False

    def _create(self, world: World, missing: int) -> bool:
        free = world.free(self.slots)
        if len(free) < missing and not world.leaving:
            raise InternalError(f"{self.name}: {missing} pods to make, and places for {len(free)}")
        for pod in free[:missing]:
            world.create(pod)
        return bool(free)

    def _first_to_go(self, world: World, live: Sequence[int], family: Sequence[Replicas]) -> list[int]:
        node_of = world.scheduler.state.node_of
        company = Counter(int(node_of[pod]) for other in family for pod in other.live(world))

        def rank(pod: int) -> tuple[float, ...]:
            node, ready = int(node_of[pod]), bool(world.ready[pod])
            found = self.ranks.get(pod) or Rank(0, 0, 0, 0, world.lot[pod])
            there = (node >= 0, node >= 0 and ready, found.cost, -company[node])
            return (*there, found.ready, -found.restarts, found.created, found.uid)

        return sorted(live, key=rank)
