"""Jobs that fail by the loss of some of their pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from models import Cluster
from models.controllers.jobs import index_of
from models.controllers.owners import is_live
from models.objects.pod import Pod
from models.objects.workload import Job, JobCondition
from planner.eviction.jobs import Impact, JobDisruptions
from planner.whatif.eviction import without_pods

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
