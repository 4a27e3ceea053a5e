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
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cmp_to_key
from random import Random

from models import Cluster
from models.objects.pod import Pod

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 1_000_000_000


def as_of(cluster: Cluster) -> datetime | None:
    """The latest time at which anything is said to have happened: nodes report every few minutes."""
    times = [item.last_heartbeat_time for node in cluster.nodes for item in node.status.conditions]
    times += [node.metadata.creation_timestamp for node in cluster.nodes]
    times += [pod.metadata.creation_timestamp for pod in cluster.pods]
    times += [pod.status.start_time for pod in cluster.pods]
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
    ranks = [(pod, (*tier(pod), pod.deletion_cost, -peers_on_node.get(pod.node_name, 0))) for pod in pods]
    if chance is not None:
        chance.shuffle(ranks)
    return _ordered(ranks, now, by_name=chance is None)


def by_job(pods: Iterable[Pod]) -> list[Pod]:
    """The pods in the order in which a Job gives them up."""
    return _ordered([(pod, tier(pod)) for pod in pods], None)


def tier(pod: Pod) -> tuple[bool, int, bool]:
    """What counts before the deletion cost: whether it has a node, its phase, whether it is ready."""
    return pod.node_name is not None, _PHASES[pod.status.phase], pod.is_ready


#: A pod, and what counts before all else when pods are compared, its tier first: lower goes first.
_VictimRank = tuple[Pod, tuple[int, ...]]


def _ordered(ranks: Sequence[_VictimRank], now: datetime | None, *, by_name: bool = True) -> list[Pod]:
    def compare(ranked: _VictimRank, other_ranked: _VictimRank) -> int:
        (one, rank), (other, other_rank) = ranked, other_ranked
        if rank != other_rank:
            return _sign(rank < other_rank)
        if one.is_ready:
            found = _later_first(one, other, one.ready_since, other.ready_since, now)
            if found:
                return found
        if one.restarts != other.restarts:
            return _sign(one.restarts > other.restarts)
        first, second = one.metadata.creation_timestamp, other.metadata.creation_timestamp
        found = _later_first(one, other, first, second, now)
        return found or (_sign(one.name < other.name) if by_name else 0)

    return [pod for pod, _ in sorted(ranks, key=cmp_to_key(compare))]


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
