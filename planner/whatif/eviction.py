"""Pods that have to go: which come back, and what kubectl would say about the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from models import Cluster
from models.controllers.reconcile import reconcile
from models.objects.pod import Pod
from models.words import counted, listed
from planner.eviction.budgets import TWO, Budgets, PodsOfCluster


def without_pods(cluster: Cluster, gone: Collection[Pod], *, returning: Iterable[Pod] = ()) -> Cluster:
    """The cluster without these pods, after its controllers have acted; `returning` may come back."""
    keys = {pod.key for pod in gone}
    claims = {
        f"{pod.namespace}/{pod.name}-{volume.name}"
        for pod in gone
        for volume in pod.spec.volumes
        if volume.ephemeral is not None
    }
    left = replace(
        cluster,
        pods=tuple(pod for pod in cluster.pods if pod.key not in keys),
        # A claim that was made for one pod is deleted with it.
        persistent_volume_claims=tuple(
            claim for claim in cluster.persistent_volume_claims if claim.key not in claims
        ),
    )
    return reconcile(left, returning)


def noted(cluster: Cluster, notes: Iterable[str]) -> Cluster:
    """The cluster with more to say about it."""
    return replace(cluster, notes=(*cluster.notes, *notes))


def bare_pods(what: str, gone: Iterable[Pod]) -> Iterator[str]:
    """A note about the pods that no controller makes again."""
    bare = [pod.key for pod in gone if pod.metadata.controller is None]
    if bare:
        yield f"{what}: {counted(len(bare), 'pod')} without a controller, lost for good: {listed(bare)}"


def drain_notes(what: str, cluster: Cluster, gone: Sequence[Pod]) -> Iterator[str]:
    """Notes about what `kubectl drain` would ask for, or wait for, before it evicts these pods."""
    for note in bare_pods(what, gone):
        yield f"{note} (kubectl drain needs --force)"
    scratch = [pod.key for pod in gone if pod.has_scratch_data]
    if scratch:
        yield (
            f"{what}: {counted(len(scratch), 'pod')} with emptyDir volumes, whose content is lost: "
            f"{listed(scratch)} (kubectl drain needs --delete-emptydir-data)"
        )
    yield from _by_budgets(what, cluster, gone)


def _by_budgets(what: str, cluster: Cluster, gone: Sequence[Pod]) -> Iterator[str]:
    """Pods that the eviction API refuses, and budgets that do not let all of the others go at once."""
    if not cluster.pod_disruption_budgets:
        return
    budgets, keys = Budgets(PodsOfCluster(cluster)), {pod.key for pod in gone}
    numbers = [number for number, pod in enumerate(cluster.pods) if pod.key in keys]
    refused = [number for number in numbers if budgets.why_not(number) == TWO]
    if refused:
        names = listed([cluster.pods[number].key for number in refused])
        yield f"{what}: {counted(len(refused), 'pod')} {TWO}, which the eviction API refuses: {names}"
    for number, going in budgets.short(number for number in numbers if number not in refused):
        allowed = max(0, budgets.allowed[number])
        yield (
            f"{what}: {counted(len(going), 'pod')} of PodDisruptionBudget {budgets.budgets[number].key} "
            f"{'has' if len(going) == 1 else 'have'} to go, and it allows {allowed or 'none'} now: "
            "kubectl drain would wait"
        )
