"""Pods that have to go: which come back, what kubectl would say about the others, and the Jobs that fail."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from models import Cluster
from models.controllers.jobs import index_of
from models.controllers.owners import is_live
from models.controllers.reconcile import reconcile
from models.objects.pod import Pod
from models.objects.workload import Job, JobCondition
from models.words import counted, listed
from planner.eviction.budgets import TWO, Budgets, PodsOfCluster
from planner.eviction.jobs import Impact, JobDisruptions


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


_FAILED = JobCondition(type="Failed", status="True")


def failing(disruptions: JobDisruptions, gone: Iterable[Pod]) -> Iterator[tuple[Job, Impact]]:
    """The Jobs that fail when these pods end, each with what that does to it."""
    found: dict[str, tuple[Job, list[Pod]]] = {}
    for pod in gone:
        job = disruptions.job_of(pod) if is_live(pod) else None
        if job is not None and not job.is_finished:
            found.setdefault(job.key, (job, []))[1].append(pod)
    for job, pods in found.values():
        impact = disruptions.impact(job, pods)
        if impact.outcome == "Fails":
            yield job, impact


def fail_jobs(cluster: Cluster, disruptions: JobDisruptions, failed: Iterable[tuple[Job, Impact]]) -> Cluster:
    """The cluster once some Jobs have failed: those pods are gone that end by it.

    A Job with failed indexes goes on with the others.
    """
    gone: list[Pod] = []
    after: dict[str, Job] = {}
    for job, impact in failed:
        gone += filter(is_live, disruptions.pods_of(job)) if impact.ends_job else impact.worn_out
        after[job.key] = _after(job, impact)
    if not after:
        return cluster
    marked = replace(cluster, jobs=tuple(after.get(job.key, job) for job in cluster.jobs))
    return without_pods(marked, gone)


def _after(job: Job, impact: Impact) -> Job:
    if impact.ends_job:
        update: dict[str, object] = {"conditions": (*job.status.conditions, _FAILED)}
    else:
        indexes = {str(index) for index in map(index_of, impact.worn_out) if index is not None}
        known = [job.status.failed_indexes] if job.status.failed_indexes else []
        update = {"failed_indexes": ",".join([*known, *sorted(indexes)])}
    return job.changed("status", **update)
