"""The pods that workloads lack: what their controllers would create next, as Pending pods."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from models.controllers.daemons import pods_of_daemon_set
from models.controllers.jobs import managed_elsewhere, pods_of_job
from models.controllers.owners import ByController
from models.controllers.replicas import (
    is_paused_from_the_start,
    pods_of_deployment,
    pods_of_replicas,
    stand_in_replica_set,
)
from models.controllers.stateful import claims_of, never_seen, numbered_freely, pods_of_stateful_set
from models.controllers.templates import usable
from models.errors import InputError
from models.objects.base import NamespacedObject
from models.objects.pod import Pod, PodTemplateSpec
from models.objects.storage import PersistentVolumeClaim
from models.objects.workload import Deployment, ReplicaSet, ReplicationController, StatefulSet
from models.snapshot import Snapshot

MOST_NEW_PODS = 200_000


class NewPod(NamedTuple):
    """A pod that the snapshot lacks, and the workload for which it is made."""

    pod: Pod
    workload: NamespacedObject


@dataclass(frozen=True, slots=True)
class Expansion:
    """What the controllers would add to a snapshot."""

    pods: tuple[NewPod, ...]
    replica_sets: tuple[ReplicaSet, ...]


def expand(cluster: Snapshot) -> Expansion:
    """The missing pods of all workloads, with the ReplicaSets that go with them."""
    _refuse_absurd_numbers(cluster)
    stand_ins = tuple(_stand_ins(cluster))
    pods = tuple(islice(_new_pods(cluster, stand_ins), MOST_NEW_PODS + 1))
    if len(pods) > MOST_NEW_PODS:
        raise InputError([f"more than {MOST_NEW_PODS:,} pods would have to be created"])
    return Expansion(pods, stand_ins)


def _refuse_absurd_numbers(cluster: Snapshot) -> None:
    """No workload has so many replicas by intention, and their pods would fill the memory."""
    problems = [
        f"{kind} {key}, spec.{field}: expected at most {MOST_NEW_PODS:,}, found {number}"
        for kind, key, field, number, template in _asked(cluster)
        if number > MOST_NEW_PODS and usable(template)
    ]
    if problems:
        raise InputError(problems)


def _asked(cluster: Snapshot) -> Iterator[tuple[str, str, str, int, PodTemplateSpec | None]]:
    """(kind, key, field, number of pods, template) of every workload that names a number."""
    scaled: tuple[Deployment | ReplicaSet | ReplicationController | StatefulSet, ...] = (
        *cluster.deployments,
        *cluster.replica_sets,
        *cluster.replication_controllers,
        *cluster.stateful_sets,
    )
    for item in scaled:
        yield item.kind, item.key, "replicas", item.spec.replicas, item.spec.template
    for job in cluster.jobs:
        yield job.kind, job.key, "parallelism", job.spec.parallelism, job.spec.template


def _stand_ins(cluster: Snapshot) -> Iterator[ReplicaSet]:
    """A ReplicaSet for each Deployment that has a usable template and none yet, and is not paused."""
    sets = ByController(cluster.replica_sets)
    for deployment in cluster.deployments:
        own = sets.of(deployment)
        if not own and not is_paused_from_the_start(deployment, own):
            stand_in = stand_in_replica_set(deployment)
            if stand_in is not None:
                yield stand_in


def idle(cluster: Snapshot) -> Iterator[str]:
    """A note for each workload for which no controller of Kubernetes makes the pods that it asks for."""
    sets = ByController(cluster.replica_sets)
    for deployment in cluster.deployments:
        if is_paused_from_the_start(deployment, sets.of(deployment)) and deployment.spec.replicas:
            yield f"Deployment {deployment.key} is paused and has no ReplicaSet: no pods are made for it"
    yield from managed_elsewhere(cluster.jobs)
    if unseen := [item for item in cluster.stateful_sets if never_seen(item)]:
        pods = ByController(cluster.pods)
        for stateful_set in unseen:
            yield from numbered_freely(stateful_set, pods.of(stateful_set))


def _new_pods(cluster: Snapshot, stand_ins: tuple[ReplicaSet, ...]) -> Iterator[NewPod]:
    pods = ByController(cluster.pods)
    sets = ByController(cluster.replica_sets + stand_ins)
    taken = {pod.key for pod in cluster.pods}
    deployed = {item.key for owner in cluster.deployments for item in sets.of(owner)}
    for deployment in cluster.deployments:
        yield from _of(deployment, pods_of_deployment(deployment, sets.of(deployment), pods, taken))
    for replica_set in cluster.replica_sets:
        if replica_set.key not in deployed:
            yield from _of(replica_set, pods_of_replicas(replica_set, pods.of(replica_set), taken))
    for controller in cluster.replication_controllers:
        yield from _of(controller, pods_of_replicas(controller, pods.of(controller), taken))
    for stateful_set in cluster.stateful_sets:
        live = pods.of(stateful_set)
        yield from _of(stateful_set, pods_of_stateful_set(stateful_set, live, taken))
    for daemon_set in cluster.daemon_sets:
        yield from _of(
            daemon_set,
            pods_of_daemon_set(daemon_set, cluster.nodes, pods.of(daemon_set), taken),
        )
    for job in cluster.jobs:
        yield from _of(job, pods_of_job(job, pods.of(job), taken))


def _of(workload: NamespacedObject, pods: Iterator[Pod]) -> Iterator[NewPod]:
    return (NewPod(pod, workload) for pod in pods)


def new_claims(cluster: Snapshot, pods: Iterable[NewPod]) -> Iterator[PersistentVolumeClaim]:
    """The claims that new pods bring along, as far as there are none of their names yet."""
    existing = {claim.key for claim in cluster.persistent_volume_claims}
    for pod, workload in pods:
        for claim in claims_of(pod, workload):
            if claim.key not in existing:
                existing.add(claim.key)
                yield claim
