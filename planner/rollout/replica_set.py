"""A ReplicaSet in a rollout: as many pods as it is asked for, made when they lack, taken when too many.

Which pods go first is the ranking of `planner.whatif.victims`, in arrays and for pods that mostly came a
moment ago.  What its Deployment sees is the status, written at the end of a turn as things were at its
beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from planner.errors import InternalError
from planner.problem.nodes import Ints
from planner.rollout.arithmetic import Size
from planner.rollout.controllers import Controller, Due
from planner.rollout.world import World

_NANOSECONDS = 1e9


class Rank(NamedTuple):
    """What a ReplicaSet ranks a pod of the snapshot by, besides its node; seconds since the apply."""

    cost: int = 0
    ready: float = 0.0
    restarts: int = 0
    created: float = 0.0
    uid: float = 0.0


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
    """How pods of the snapshot are ranked; those that come later count by when they came."""
    min_ready: int = 0
    """For how many seconds a pod has to be ready until it is available."""
    available: int | None = None
    """How many of its pods are available, as its status says."""
    _numbers: Ints = field(init=False)
    _table: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = np.array(self.slots, np.int64)
        self._table = np.array([self.ranks.get(pod, Rank()) for pod in self.slots], float).reshape(-1, 5)

    def live(self, world: World) -> Ints:
        """The pods that are there and were not told to go."""
        return self._numbers[world.alive[self._numbers]]

    def count_available(self, world: World) -> int:
        """How many pods are available."""
        return int(np.count_nonzero(world.available[self._numbers]))

    def size(self, world: World) -> Size:
        """What it is asked for, and how many of its pods its status calls available."""
        return Size(self.replicas, self.count_available(world) if self.available is None else self.available)

    def due(self, world: World, family: Sequence[Replicas]) -> Due:
        """The pods that lack, or those that are too many."""
        surplus = len(self.live(world)) - self.replicas
        if surplus < 0:
            return Due(made=self._places(world, -surplus))
        return Due(gone=self._first_to_go(world, family)[:surplus]) if surplus else Due()

    def _places(self, world: World, missing: int) -> list[int]:
        free = world.free(self.slots)
        if len(free) < missing and not world.leaving:
            raise InternalError(f"{self.name}: {missing} pods to make, and places for {len(free)}")
        return free[:missing]

    def _first_to_go(self, world: World, family: Sequence[Replicas]) -> list[int]:
        node_of, live = world.scheduler.state.node_of, self.live(world)
        related = np.concatenate([node_of[other.live(world)] for other in family])
        company = np.bincount(related + 1)[node_of[live] + 1]
        rank = self._table[world.alive[self._numbers]]
        later = ~np.isnan(world.made_at[live])
        cost, restarts = np.where(later, 0, rank[:, 0]), np.where(later, 0, rank[:, 2])
        became_ready = np.where(later, world.ready_at[live], rank[:, 1])
        created = np.where(later, world.made_at[live], rank[:, 3])
        uid = np.where(later | (rank[:, 4] == 0), world.lot[live], rank[:, 4])
        placed, ready = node_of[live] >= 0, world.ready[live]
        last_to_first = (
            world.lot[live],
            *_later_first(created, uid, world.now),
            -restarts,
            *_later_first(became_ready, uid, world.now),
            -company,
            cost,
            placed & ready,
            placed,
        )
        return [int(pod) for pod in live[np.lexsort(last_to_first)]]


def _later_first(times: np.ndarray, uid: np.ndarray, now: float) -> tuple[np.ndarray, np.ndarray]:
    """Keys by how long ago it was, the second before the first in rank: its magnitude, and then the uid.

    The uid counts only between different times of one magnitude: what was in the same second is alike.
    """
    times = np.nan_to_num(times, nan=np.inf)
    ago = np.maximum(now - times, 0.0)
    magnitude = np.where(ago > 0, np.floor(np.log2(np.maximum(ago, 1 / _NANOSECONDS) * _NANOSECONDS)), -1)
    mixed = np.zeros(len(times), bool)
    for number in np.unique(magnitude):
        alike = magnitude == number
        mixed[alike] = len(np.unique(times[alike])) > 1
    return np.where(mixed, uid, 0.0), magnitude


class ReplicaSetController(Controller):
    """The control loop over one ReplicaSet, and the one above it that reads its status."""

    def __init__(
        self, replicas: Replicas, family: Sequence[Replicas], above: Sequence[Controller] = ()
    ) -> None:
        self._replicas, self._family, self._above = replicas, family, above

    @property
    def watched(self) -> Iterable[int]:
        """Its pods."""
        return self._replicas.slots

    def turn(self, world: World) -> Iterator[Sequence[Controller]]:
        """Make or take pods, then say how many were available when the turn began."""
        seen, due = self._replicas.count_available(world), self._replicas.due(world, self._family)
        for _ in due.carried_out(world):
            yield ()
        if seen != self._replicas.available:
            self._replicas.available = seen
            yield self._above
