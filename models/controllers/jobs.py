"""Jobs: pods that run to their end, and what their failures count for."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from models.controllers.owners import is_live
from models.controllers.templates import free_names, new_pod, stand_in_uid, usable
from models.objects.annotations import COMPLETION_INDEX, INDEX_FAILURES
from models.objects.base import MOST_INT32
from models.objects.pod import Pod
from models.objects.workload import Job

_RANGE = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?", re.ASCII)
_PREFIX = "batch.kubernetes.io/"
#: On pods of Jobs until their controller has counted how they ended.
JOB_TRACKING = f"{_PREFIX}job-tracking"


def pods_of_job(job: Job, pods: Sequence[Pod], taken: set[str]) -> Iterator[Pod]:
    """The pods that a Job would start now, beside those that are running."""
    template = usable(job.spec.template)
    missing = wanted_of(job, pods) - sum(_holds_its_place(job, pod) for pod in pods)
    if template is None or missing <= 0:
        return
    labels = _labels(job)
    if job.spec.completion_mode == "Indexed":
        for index in islice(_free_indexes(job, pods), missing):
            name = next(free_names(f"{job.name}-{index}", job.namespace, taken))
            yield new_pod(template, job, name, {**labels, COMPLETION_INDEX: str(index)})
        return
    for name in islice(free_names(job.name, job.namespace, taken), missing):
        yield new_pod(template, job, name, labels)


def wanted_of(job: Job, pods: Sequence[Pod]) -> int:
    """How many pods should be running."""
    if job.is_finished or job.spec.suspend or job.is_managed_elsewhere:
        return 0
    succeeded = succeeded_of(job, pods)
    completions = job.spec.wanted_completions
    if completions is None:
        return 0 if succeeded else job.spec.parallelism
    return min(job.spec.parallelism, completions - succeeded)


def managed_elsewhere(jobs: Iterable[Job]) -> Iterator[str]:
    """A note for each Job for which another controller may make pods, here or in another cluster."""
    for job in jobs:
        if job.is_managed_elsewhere and not job.is_finished:
            yield f"Job {job.key} is managed by {job.spec.managed_by}: no pods are made for it here"


def succeeded_of(job: Job, pods: Sequence[Pod]) -> int:
    """How many of its pods have succeeded so far."""
    return max(job.status.succeeded, sum(pod.status.phase == "Succeeded" for pod in pods))


def _labels(job: Job) -> dict[str, str]:
    uid = job.metadata.uid or stand_in_uid("Job", job.key)
    plain = {"job-name": job.name, "controller-uid": uid}
    return plain | {f"{_PREFIX}{key}": value for key, value in plain.items()}


def _free_indexes(job: Job, pods: Sequence[Pod]) -> Iterator[int]:
    """The indexes that are neither done, nor failed for good, nor under way, lowest first."""
    done = [*_ranges(job.status.completed_indexes), *_ranges(job.status.failed_indexes)]
    busy = {index_of(pod) for pod in pods if _holds_its_place(job, pod) or pod.status.phase == "Succeeded"}
    for index in range(job.spec.completions or 0):
        if index not in busy and not any(index in indexes for indexes in done):
            yield index


def _holds_its_place(job: Job, pod: Pod) -> bool:
    """Whether no other is made for a pod: it runs or waits, or is ending and the Job waits for that."""
    return is_live(pod) or (pod.is_terminating and not pod.is_finished and replaces_ended_only(job))


def index_of(pod: Pod) -> int | None:
    """The pod's number among those of an Indexed Job."""
    text = pod.metadata.labels.get(COMPLETION_INDEX) or pod.metadata.annotations.get(COMPLETION_INDEX) or ""
    return int(text) if text.isascii() and text.isdigit() else None


def _ranges(text: str) -> list[range]:
    """Indexes written as ranges, such as `0,2-4`."""
    return [range(int(first), int(last or first) + 1) for first, last in _RANGE.findall(text)]


def failed_indexes_of(job: Job) -> int:
    """How many indexes of an Indexed Job have failed for good."""
    return sum(map(len, _ranges(job.status.failed_indexes)))


def failures_of_index(pod: Pod) -> int:
    """How many pods of the same index have failed before this one."""
    text = pod.metadata.annotations.get(INDEX_FAILURES, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def backoff_limit_of(job: Job) -> int:
    """How many failed pods the Job bears: six where it names no limit, any number where only indexes do."""
    if job.spec.backoff_limit is not None:
        return job.spec.backoff_limit
    return 6 if job.spec.backoff_limit_per_index is None else MOST_INT32


def replaces_ended_only(job: Job) -> bool:
    """Whether a pod counts as failed, and is replaced, only when it has ended; else when it is told to."""
    policy = job.spec.pod_replacement_policy
    return policy == "Failed" or (policy is None and job.spec.pod_failure_policy is not None)


def failures_of(job: Job, pods: Sequence[Pod]) -> int:
    """How many pods have failed, those included that are on their way out and will be counted.

    After a failure the controller looks at a Job again only when the back-off is over, which may be minutes.
    Until then its status has nothing of pods that have ended since; all of them have the finalizer.
    """
    being_counted = job.status.uncounted_terminated_pods.failed
    later = [pod for pod in pods if pod.metadata.uid not in being_counted]
    return job.status.failed + len(being_counted) + sum(_will_be_counted(job, pod) for pod in later)


def _will_be_counted(job: Job, pod: Pod) -> bool:
    """Whether a pod is another failure that the status of its Job does not have yet."""
    is_ending = pod.is_terminating and not pod.is_finished
    if JOB_TRACKING in pod.metadata.finalizers:
        return is_ending or pod.status.phase == "Failed"
    return is_ending and replaces_ended_only(job)
