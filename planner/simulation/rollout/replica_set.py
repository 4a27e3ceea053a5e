"""A ReplicaSet in a rollout: as many pods as it is asked for, made when they lack, taken when too many.

Which pods go first is the ranking of `planner.whatif.victims`, in arrays and for pods that mostly came a
moment ago; a Job's pods are ranked here, too.  What its Deployment sees is the status, written at the end of
a reconcile as things were at its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from models.errors import InternalError
from planner.problem.nodes import Ints
from planner.simulation.rollout.arithmetic import Size
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import Controller, Due, PodRun

_NANOSECONDS = 1e9
#: What a phase counts when pods are ranked: the lower goes first.
PENDING, UNKNOWN, RUNNING = range(3)


class DeletionRank(NamedTuple):
    """What a ReplicaSet ranks a pod of the snapshot by, besides its node; seconds since the apply."""

    phase: int = PENDING
    cost: int = 0
    ready: float = 0.0
    restarts: int = 0
    created: float = 0.0
    uid: float = 0.0


@dataclass(slots=True)
class Revision:
    """One revision: the pods that it has or may have, and how many of them it is asked for."""

    name: str
    slots: Sequence[int]
    replicas: int
    desired: int | None = None
    most: int | None = None
    """How many pods its Deployment wanted, and could have had, when this was last sized."""
    ranks: Mapping[int, DeletionRank] = field(default_factory=dict)
    """How pods of the snapshot are ranked; those that come later count by when they came."""
    min_ready: int = 0
    """For how many seconds a pod has to be ready until it is available."""
    available: int | None = None
    """How many of its pods are available, as its status says."""
    of_job: bool = False
    """Whether a Job takes the pods: deletion costs count for nothing, and times as they are."""
    _numbers: Ints = field(init=False)
    _table: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._numbers = np.array(self.slots, np.int64)
        ranks = [self.ranks.get(pod, DeletionRank()) for pod in self.slots]
        self._table = np.array(ranks, float).reshape(-1, len(DeletionRank._fields))

    def live(self, simulation: ClusterSimulation) -> Ints:
        """The pods that are there and were not told to go."""
        return self._numbers[simulation.alive[self._numbers]]

    def count_available(self, simulation: ClusterSimulation) -> int:
        return int(np.count_nonzero(simulation.available[self._numbers]))

    def count_ready(self, simulation: ClusterSimulation) -> int:
        return int(np.count_nonzero(simulation.ready[self._numbers]))

    def size(self, simulation: ClusterSimulation) -> Size:
        """What it is asked for, and how many of its pods its status calls available."""
        return Size(
            self.replicas, self.count_available(simulation) if self.available is None else self.available
        )

    def due(self, simulation: ClusterSimulation, family: Sequence[Revision]) -> Due:
        """The pods that lack, or those that are too many; `family` are the ReplicaSets of its controller."""
        surplus = len(self.live(simulation)) - self.replicas
        if surplus < 0:
            return Due(made=self._places(simulation, -surplus))
        return Due(gone=self._first_to_go(simulation, family)[:surplus]) if surplus else Due()

    def _places(self, simulation: ClusterSimulation, missing: int) -> list[int]:
        free = simulation.free(self.slots)
        if len(free) < missing and not simulation.leaving:
            raise InternalError(f"{self.name}: {missing} pods to make, and places for {len(free)}")
        return free[:missing]

    def _first_to_go(self, simulation: ClusterSimulation, family: Sequence[Revision]) -> list[int]:
        node_of, live = simulation.scheduler.state.node_of, self.live(simulation)
        related = np.concatenate([node_of[:0], *(node_of[other.live(simulation)] for other in family)])
        peers_on_node = np.bincount(related + 1, minlength=len(simulation.problem.nodes.names) + 1)
        phase, cost, ready_since, restarts, created, uid = self._table[simulation.alive[self._numbers]].T
        placed, ready = node_of[live] >= 0, simulation.ready[live]
        later = ~np.isnan(simulation.made_at[live])
        told = ~(later | ~np.isnan(simulation.ready_at[live]))
        phase = np.where(told, phase, np.where(ready, RUNNING, PENDING))
        became_ready = np.where(told, ready_since, simulation.ready_at[live])
        cost, restarts = np.where(later | self.of_job, 0, cost), np.where(later, 0, restarts)
        created = np.where(later, simulation.made_at[live], created)
        uid = np.where(later | (uid == 0), simulation.random_rank[live], uid)
        last_to_first = (
            simulation.random_rank[live],
            *self._later_first(created, uid, simulation.now),
            -restarts,
            *self._later_first(became_ready, uid, simulation.now),
            -peers_on_node[node_of[live] + 1],
            cost,
            placed & ready,
            phase,
            placed,
        )
        return [int(pod) for pod in live[np.lexsort(last_to_first)]]

    def _later_first(self, times: np.ndarray, uid: np.ndarray, now: float) -> Sequence[np.ndarray]:
        return (-np.nan_to_num(times, nan=np.inf),) if self.of_job else _later_first(times, uid, now)


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
        self, replicas: Revision, family: Sequence[Revision], above: Sequence[Controller] = ()
    ) -> None:
        self._replicas, self._family, self._above = replicas, family, above

    @property
    def watched(self) -> Iterable[int]:
        return self._replicas.slots

    def reconcile(self, simulation: ClusterSimulation) -> Iterator[Sequence[Controller]]:
        """Make or take pods, then say how many were available when the reconcile began."""
        seen, due = self._replicas.count_available(simulation), self._replicas.due(simulation, self._family)
        for _ in due.carried_out(simulation):
            yield ()
        if seen != self._replicas.available:
            self._replicas.available = seen
            yield self._above


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
        self.replicas.replicas = replicas

    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether all pods wanted are there and available."""
        return (
            len(self.replicas.live(simulation))
            == self.replicas.replicas
            == self.replicas.count_available(simulation)
        )
