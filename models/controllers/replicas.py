"""Deployments, ReplicaSets and ReplicationControllers: a number of pods that are all alike."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

from models.controllers.owners import ByController, is_live
from models.controllers.templates import (
    free_names,
    new_pod,
    owned_by,
    stand_in_hash,
    stand_in_uid,
    usable,
)
from models.objects.annotations import REVISION
from models.objects.base import ObjectMeta
from models.objects.pod import Pod, PodTemplateSpec
from models.objects.selectors import LabelSelector
from models.objects.workload import Deployment, ReplicaSet, ReplicaSetSpec, ReplicationController

HASH_LABEL = "pod-template-hash"
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def pods_of_replicas(
    owner: ReplicaSet | ReplicationController, pods: Sequence[Pod], taken: set[str]
) -> Iterator[Pod]:
    """The pods that a ReplicaSet or ReplicationController of its own lacks."""
    template = usable(owner.spec.template)
    missing = owner.spec.replicas - sum(map(is_live, pods))
    if template is not None and missing > 0:
        names = free_names(owner.name, owner.namespace, taken)
        for name in islice(names, missing):
            yield new_pod(template, owner, name)


def pods_of_deployment(
    deployment: Deployment, sets: Sequence[ReplicaSet], pods: ByController[Pod], taken: set[str]
) -> Iterator[Pod]:
    """The pods that a Deployment lacks, made by the newest of its ReplicaSets."""
    newest = newest_of(sets)
    live = sum(is_live(pod) for replica_set in sets for pod in pods.of(replica_set))
    missing = deployment.spec.replicas - live
    if newest is None or missing <= 0:
        return
    template = usable(deployment.spec.template) or usable(newest.spec.template)
    if template is not None:
        labels = {HASH_LABEL: _hash_of(newest, deployment)}
        for name in islice(free_names(newest.name, newest.namespace, taken), missing):
            yield new_pod(template, newest, name, labels)


def newest_of(sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The ReplicaSet of the latest revision, by number and then by age."""
    return max(sets, key=_revision, default=None)


def emptied(sets: Sequence[ReplicaSet]) -> Iterator[ReplicaSet]:
    """Those of a Deployment's ReplicaSets that a rollout empties: all that are older than another one."""
    latest = max((_revision(item)[:2] for item in sets), default=(0, _LONG_AGO))
    return (item for item in sets if _revision(item)[:2] < latest)


def stand_in_replica_set(deployment: Deployment) -> ReplicaSet | None:
    """The ReplicaSet that the Deployment would create; None when there is nothing to make."""
    template = usable(deployment.spec.template)
    if template is None or deployment.spec.replicas == 0:
        return None
    hashed = {HASH_LABEL: stand_in_hash(deployment, template)}
    name = f"{deployment.name}-{hashed[HASH_LABEL]}"
    labels = {**template.metadata.labels, **hashed}
    selector = deployment.spec.selector or LabelSelector()
    match_labels = {**selector.match_labels, **hashed}
    return ReplicaSet(
        api_version="apps/v1",
        metadata=ObjectMeta(
            name=name,
            namespace=deployment.namespace,
            uid=stand_in_uid("ReplicaSet", f"{deployment.namespace}/{name}"),
            labels=labels,
            owner_references=(owned_by(deployment),),
        ),
        spec=ReplicaSetSpec(
            replicas=deployment.spec.replicas,
            selector=LabelSelector(match_labels=match_labels, match_expressions=selector.match_expressions),
            template=PodTemplateSpec(
                metadata=template.metadata.model_copy(update={"labels": labels}),
                spec=template.spec,
            ),
        ),
    )


def _revision(replica_set: ReplicaSet) -> tuple[int, datetime, str]:
    text = replica_set.metadata.annotations.get(REVISION, "")
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number, replica_set.metadata.creation_timestamp or _LONG_AGO, replica_set.name


def _hash_of(replica_set: ReplicaSet, deployment: Deployment) -> str:
    return replica_set.metadata.labels.get(HASH_LABEL, replica_set.name.removeprefix(f"{deployment.name}-"))
