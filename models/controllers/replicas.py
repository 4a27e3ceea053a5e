"""Deployments, ReplicaSets and ReplicationControllers: a number of pods that are all alike."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice

from models.controllers.owners import ByController, is_live
from models.controllers.stateful import REVISION_LABEL, revision_of, with_claims
from models.controllers.templates import (
    another,
    free_names,
    new_pod,
    owned_by,
    stand_in_hash,
    stand_in_uid,
    usable,
)
from models.objects.annotations import DESIRED_REPLICAS, REVISION, ROLLOUT_REVISION
from models.objects.base import LONG_AGO, ObjectMeta
from models.objects.custom_workload import CloneSet, Rollout
from models.objects.pod import Pod, PodTemplateSpec
from models.objects.selectors import LabelSelector
from models.objects.workload import (
    Deployment,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicationController,
    StatefulSet,
)
from models.snapshot import Snapshot

HASH_LABEL = Deployment.hash_label


def pods_of_replicas(
    owner: ReplicaSet | ReplicationController, pods: Sequence[Pod], taken: set[str]
) -> Iterator[Pod]:
    """The pods that a ReplicaSet or ReplicationController of its own lacks."""
    template = usable(owner.spec.template)
    missing = owner.spec.replicas - sum(map(is_live, pods))
    if template is not None and missing > 0:
        names = free_names(owner.name, owner.namespace, taken)
        revision = revision_of(pods) if isinstance(owner, CloneSet) else None
        labels = {REVISION_LABEL: revision} if revision else {}
        if isinstance(owner, CloneSet):
            for name in islice(names, missing):
                yield new_pod(template, owner, name, labels, with_claims(template.spec, owner, name))
            return
        first = new_pod(template, owner, next(names))
        yield first
        for name in islice(names, missing - 1):
            yield another(first, name)


def pods_of_deployment(
    deployment: Deployment, sets: Sequence[ReplicaSet], pods: ByController[Pod], taken: set[str]
) -> Iterator[Pod]:
    """The pods that a Deployment lacks, made by the newest of its ReplicaSets; of a paused one by all.

    In a rolling update each ReplicaSet makes up its own number first, surge included.
    """
    live = sum(is_live(pod) for replica_set in sets for pod in pods.of(replica_set))
    if is_between_sets(deployment, sets) or _is_rolling(deployment, sets):
        for replica_set in sets:
            for pod in pods_of_replicas(replica_set, pods.of(replica_set), taken):
                live += 1
                yield pod
    if is_between_sets(deployment, sets):
        # Argo Rollouts has said how many pods each is to have, and stays at that for as long as it likes.
        return
    newest = newest_of(sets)
    missing = deployment.spec.replicas - live
    if newest is None or missing <= 0:
        return
    if deployment.spec.paused:
        yield from islice(_of_paused(deployment, sets, pods, taken), missing)
        return
    template = usable(deployment.spec.template) or usable(newest.spec.template)
    if template is not None:
        labels = {deployment.hash_label: _hash_of(newest, deployment)}
        names = free_names(newest.name, newest.namespace, taken)
        first = new_pod(template, newest, next(names), labels)
        yield first
        for name in islice(names, missing - 1):
            yield another(first, name)


def _of_paused(
    deployment: Deployment, sets: Sequence[ReplicaSet], pods: ByController[Pod], taken: set[str]
) -> Iterator[Pod]:
    """The pods that the ReplicaSets of a paused Deployment lack: they are scaled, and make what they made."""
    active = [item for item in sets if item.spec.replicas] or [max(sets, key=_revision)]
    active.sort(key=lambda item: -item.spec.replicas)
    sizes = _grown([item.spec.replicas for item in active], deployment.spec.replicas)
    for item, replicas in zip(active, sizes, strict=True):
        template = usable(item.spec.template) or deployment.spec.template
        spec = item.spec.model_copy(update={"replicas": replicas, "template": template})
        yield from pods_of_replicas(item.model_copy(update={"spec": spec}), pods.of(item), taken)


def _grown(sizes: Sequence[int], replicas: int) -> list[int]:
    """So many replicas shared out in proportion, the largest first; what rounding leaves goes to that one."""
    total = sum(sizes)
    left, found = replicas - total, list(sizes)
    for place, size in enumerate(sizes) if total and left > 0 else ():
        more = min(left, (2 * size * replicas + total) // (2 * total) - size)
        found[place] += more
        left -= more
    found[0] += left if left > 0 or len(sizes) == 1 else 0
    return found


def is_paused_from_the_start(deployment: Deployment, sets: Sequence[ReplicaSet]) -> bool:
    """Whether a Deployment has no ReplicaSet and so no pods: none is made while it is paused."""
    return deployment.spec.paused and not isinstance(deployment, Rollout) and not sets


def with_templates(cluster: Snapshot) -> Iterator[Deployment]:
    """The Deployments, and the Rollouts with the templates of the workloads that they refer to."""
    known: tuple[Deployment | ReplicaSet | StatefulSet, ...] = (
        *cluster.deployments,
        *cluster.replica_sets,
        *cluster.stateful_sets,
    )
    templates = {(item.namespace, item.kind, item.name): item.spec for item in known}
    for item in cluster.deployments:
        ref = item.spec.workload_ref if isinstance(item, Rollout) else None
        found = templates.get((item.namespace, ref.kind, ref.name)) if ref is not None else None
        if found is None:
            yield item
            continue
        update = {"template": found.template, "selector": item.spec.selector or found.selector}
        yield item.model_copy(update={"spec": item.spec.model_copy(update=update)})


def is_between_sets(deployment: Deployment, sets: Sequence[ReplicaSet]) -> bool:
    """Whether a Rollout has more than one ReplicaSet with pods: a canary, or blue beside green."""
    return isinstance(deployment, Rollout) and sum(item.spec.replicas > 0 for item in sets) > 1


def _is_rolling(deployment: Deployment, sets: Sequence[ReplicaSet]) -> bool:
    """Whether several ReplicaSets were told their numbers for just so many replicas of the Deployment."""
    told = [item.metadata.annotations.get(DESIRED_REPLICAS) for item in sets if item.spec.replicas]
    return len(told) > 1 and {*told} == {str(deployment.spec.replicas)} and not deployment.spec.paused


def newest_of(sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The ReplicaSet of the latest revision, by number and then by age."""
    return max(sets, key=_revision, default=None)


def emptied(sets: Sequence[ReplicaSet]) -> Iterator[ReplicaSet]:
    """Those of a Deployment's ReplicaSets that a rollout empties: all that are older than another one."""
    latest = max((_revision(item)[:2] for item in sets), default=(0, LONG_AGO))
    return (item for item in sets if _revision(item)[:2] < latest)


def stand_in_replica_set(deployment: Deployment) -> ReplicaSet | None:
    """The ReplicaSet that the Deployment would create; None when there is nothing to make."""
    template = usable(deployment.spec.template)
    if template is None or deployment.spec.replicas == 0:
        return None
    hashed = {deployment.hash_label: stand_in_hash(deployment, template)}
    name = f"{deployment.name}-{hashed[deployment.hash_label]}"
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
    told = replica_set.metadata.annotations
    text = told.get(REVISION, told.get(ROLLOUT_REVISION, ""))
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number, replica_set.metadata.created, replica_set.name


def _hash_of(replica_set: ReplicaSet, deployment: Deployment) -> str:
    known = replica_set.metadata.labels.get(deployment.hash_label)
    return known or replica_set.name.removeprefix(f"{deployment.name}-")
