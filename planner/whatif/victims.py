"""Which replicas the controllers of Kubernetes 1.34 take when there are too many.

ReplicaSet (and ReplicationController), ActivePodsWithRanks, the first to go first: without a node;
phase Pending, then Unknown, then Running; not ready; lower `controller.kubernetes.io/pod-deletion-cost`;
more replicas of the same Deployment on the node; ready for a shorter time; more restarts of a container,
then of a sidecar; created later.  Times are compared by the logarithm to base 2 of how many nanoseconds
ago they were, and where that is equal, though the times are not, the uid decides.
Job, ActivePods: the same without cost, pods beside it on the node and logarithms.
StatefulSet: the highest ordinal.

Differences: the time of the snapshot stands for now, and the name decides where nothing else does;
in Kubernetes that is left to chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cmp_to_key
from random import Random

from models import Cluster
from models.objects.pod import Pod

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 1_000_000_000


def as_of(cluster: Cluster) -> datetime | None:
    """The latest time that the snapshot mentions: nodes report every few minutes."""
    times = [item.last_heartbeat_time for node in cluster.nodes for item in node.status.conditions]
    times += [node.metadata.creation_timestamp for node in cluster.nodes]
    times += [pod.metadata.creation_timestamp for pod in cluster.pods]
    times += [pod.ready_since for pod in cluster.pods]
    return max((time for time in times if time is not None), default=None)


def by_replica_set(
    pods: Iterable[Pod],
    peers_on_node: Mapping[str | None, int],
    now: datetime | None,
    chance: Random | None = None,
) -> list[Pod]:
    """The replicas in the order in which a ReplicaSet deletes them; `peers_on_node` has them by node.

    With `chance` that decides instead of the name where nothing else does.
    """
    ranks = [_VictimRank.of_replica(pod, peers_on_node.get(pod.node_name, 0)) for pod in pods]
    if chance is not None:
        chance.shuffle(ranks)
    return _ordered(ranks, now, by_name=chance is None)


def by_job(pods: Iterable[Pod]) -> list[Pod]:
    """The pods in the order in which a Job gives them up."""
    return _ordered([_VictimRank.of(pod, (0, 0)) for pod in pods], None)


def peers_per_node(related: Iterable[Pod]) -> Mapping[str | None, int]:
    """How many of some live pods are on each node."""
    return Counter(pod.node_name for pod in related)


def tier(pod: Pod) -> tuple[bool, int, bool]:
    """What counts before the deletion cost: whether it has a node, its phase, whether it is ready."""
    return pod.node_name is not None, _PHASES[pod.status.phase], pod.is_ready


@dataclass(frozen=True, slots=True)
class _VictimRank:
    """What a pod is compared by: `first` counts before all else, lower goes first."""

    pod: Pod
    first: tuple[int, ...]
    ready: bool

    @classmethod
    def of_replica(cls, pod: Pod, peers_on_node: int) -> _VictimRank:
        return cls.of(pod, (pod.deletion_cost, -peers_on_node))

    @classmethod
    def of(cls, pod: Pod, own: tuple[int, int]) -> _VictimRank:
        return cls(pod, (*tier(pod), *own), pod.is_ready)


def _ordered(ranks: Sequence[_VictimRank], now: datetime | None, *, by_name: bool = True) -> list[Pod]:
    def compare(one: _VictimRank, other: _VictimRank) -> int:
        if one.first != other.first:
            return _sign(one.first < other.first)
        if one.ready:
            found = _later_first(one.pod, other.pod, one.pod.ready_since, other.pod.ready_since, now)
            if found:
                return found
        if one.pod.restarts != other.pod.restarts:
            return _sign(one.pod.restarts > other.pod.restarts)
        first, second = one.pod.metadata.creation_timestamp, other.pod.metadata.creation_timestamp
        found = _later_first(one.pod, other.pod, first, second, now)
        return found or (_sign(one.pod.name < other.pod.name) if by_name else 0)

    return [rank.pod for rank in sorted(ranks, key=cmp_to_key(compare))]


def _later_first(
    one: Pod, other: Pod, first: datetime | None, second: datetime | None, now: datetime | None
) -> int:
    """Which of two times goes first: none at all, then the later; 0 where they are equal."""
    if first == second:
        return 0
    if first is None or second is None:
        return _sign(first is None)
    if now is None:
        return _sign(first > second)
    one_ago, other_ago = magnitude(first, now), magnitude(second, now)
    if one_ago == other_ago:
        return _sign(one.metadata.uid < other.metadata.uid)
    return _sign(one_ago < other_ago)


def magnitude(time: datetime, now: datetime) -> int:
    """The whole part of the logarithm of how long ago it was; -1 for what is yet to come."""
    ago = now - time
    nanoseconds = (ago.days * 86_400 + ago.seconds) * _NANOSECONDS + ago.microseconds * 1_000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _sign(first: bool) -> int:
    return -1 if first else 1
