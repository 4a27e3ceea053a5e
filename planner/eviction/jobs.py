"""What evictions and lost nodes do to Jobs: kube-controller-manager's job controller, as of 1.36.

An evicted pod of a Job has failed: at once, or with `podReplacementPolicy: Failed` or a podFailurePolicy
when it has ended.  The first rule of the podFailurePolicy that matches says what that counts for; without
one it is a failure, and the Job fails when there are more than `backoffLimit` of them.  With
`backoffLimitPerIndex` an index fails for good in the same way, and the Job in the end.

Exit codes are not known beforehand.  A container that is told to stop is taken to end with 143 (SIGTERM)
or 137 (SIGKILL), whichever is worse; `depends_on_exit_codes` says where another one would be worse still.

A pod whose node is lost has failed, too.  No kubelet says how its containers end: no rule about exit codes
matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from models import Cluster
from models.controllers.jobs import backoff_limit_of, failed_indexes_of, failures_of, failures_of_index
from models.controllers.owners import ByController, is_controlled_by
from models.objects.base import OwnerReference
from models.objects.pod import Pod
from models.objects.workload import Job, PodFailureRule

Action = Literal["Ignore", "Count", "FailIndex", "FailJob"]
JobOutcome = Literal["KeepsRunning", "LosesRetries", "Fails"]
_FAILED_INDEXES = "FailedIndexes"


@dataclass(frozen=True, slots=True)
class PodEnd:
    """How a pod ends: the exit codes that its containers may have, None without any, and its conditions."""

    exit_codes: tuple[int | None, ...]
    conditions: frozenset[tuple[str, str]]


_CONDITIONS = frozenset(
    {("DisruptionTarget", "True"), ("Ready", "False"), ("PodScheduled", "True"), ("Initialized", "True")}
)
#: The containers are told to stop.
EVICTED = PodEnd((143, 137), _CONDITIONS | {("ContainersReady", "False")})
#: The node does not answer, and is gone: the node lifecycle controller and Pod GC say what they know.
LOST = PodEnd((None,), _CONDITIONS | {("ContainersReady", "True")})
_WORST: tuple[Action, ...] = ("FailJob", "FailIndex", "Count", "Ignore")


def is_of_job(owner: OwnerReference | None) -> bool:
    """Whether this controller is of kind Job, in whichever API group."""
    return owner is not None and owner.kind == "Job"


@dataclass(frozen=True, slots=True)
class Impact:
    """What some evictions do to a Job; `retries_left` are those after them, None where none are lost.

    `worn_out` are the pods among them whose index fails for good.
    """

    evictions: int
    outcome: JobOutcome
    reason: str = ""
    retries: int | None = None
    retries_left: int | None = None
    worn_out: Sequence[Pod] = field(default=(), compare=False)

    @property
    def ends_job(self) -> bool:
        """Whether the Job fails at once: it makes no more pods, and deletes those that it has."""
        return self.outcome == "Fails" and self.reason != _FAILED_INDEXES


class JobDisruptions:
    """The Jobs of a snapshot, and what it does to them when pods of theirs are evicted, or end otherwise."""

    def __init__(self, cluster: Cluster, end: PodEnd = EVICTED) -> None:
        self._jobs = {job.key: job for job in cluster.jobs}
        self._cluster = cluster
        self._end = end
        self._retries: dict[str, int | None] = {}

    @cached_property
    def _pods(self) -> ByController[Pod]:
        return ByController(pod for pod in self._cluster.pods if is_of_job(pod.metadata.controller))

    def job_of(self, pod: Pod) -> Job | None:
        """The Job that made a pod, if the snapshot has it, and not a later one of the same name."""
        owner = pod.metadata.controller
        if owner is None or not is_of_job(owner) or "." in owner.api_version.partition("/")[0]:
            return None
        job = self._jobs.get(f"{pod.namespace}/{owner.name}")
        return job if job is not None and is_controlled_by(pod, job) else None

    def pods_of(self, job: Job) -> Sequence[Pod]:
        """All pods that a Job controls."""
        return self._pods.of(job)

    def retries(self, job: Job) -> int | None:
        """How many evictions of its pods the Job survives; None for any number."""
        if job.key not in self._retries:
            self._retries[job.key] = self._count_retries(job)
        return self._retries[job.key]

    def _count_retries(self, job: Job) -> int | None:
        action = action_of(job, self._end)
        if action == "Ignore":
            return None
        if action in {"FailJob", "FailIndex"}:
            return 0
        return max(0, backoff_limit_of(job) - failures_of(job, self.pods_of(job)))

    def survives(self, job: Job, pod: Pod) -> bool:
        """Whether neither the Job nor the pod's index fails by this one eviction."""
        return self.impact(job, [pod]).outcome != "Fails"

    def impact(self, job: Job, evicted: Sequence[Pod]) -> Impact:
        """What the evictions of these pods do to their Job; a pod listed twice is evicted twice."""
        action, number = action_of(job, self._end), len(evicted)
        if action == "Ignore":
            return Impact(number, "KeepsRunning")
        if action == "FailJob":
            return Impact(number, "Fails", "PodFailurePolicy")
        limit, retries = backoff_limit_of(job), self.retries(job)
        if action == "Count" and retries is not None and number > retries:
            return Impact(number, "Fails", "BackoffLimitExceeded", limit, 0)
        worn = _worn_out(job, evicted) if action == "Count" else evicted
        if worn:
            most = job.spec.max_failed_indexes
            over = most is not None and failed_indexes_of(job) + len(worn) > most
            reason = "MaxFailedIndexesExceeded" if over else _FAILED_INDEXES
            return Impact(number, "Fails", reason, worn_out=worn)
        if job.spec.backoff_limit_per_index is not None:
            per_index = job.spec.backoff_limit_per_index
            left = min(per_index - failures for _, failures in _failures_per_index(evicted))
            return Impact(number, "LosesRetries", "", per_index, left)
        return Impact(number, "LosesRetries", "", limit, (retries or 0) - number)


def _worn_out(job: Job, evicted: Sequence[Pod]) -> Sequence[Pod]:
    """The pods whose index fails for good by these evictions."""
    most = job.spec.backoff_limit_per_index
    return () if most is None else [pod for pod, failures in _failures_per_index(evicted) if failures > most]


def _failures_per_index(evicted: Sequence[Pod]) -> Iterator[tuple[Pod, int]]:
    """Every evicted pod, and the number of failures of its index after the evictions."""
    times = Counter(pod.name for pod in evicted)
    for pod in {pod.name: pod for pod in evicted}.values():
        yield pod, failures_of_index(pod) + times[pod.name]


def action_of(job: Job, end: PodEnd = EVICTED) -> Action:
    """The podFailurePolicy action for a pod that ends so; the worse one where it depends on the exit code."""
    return min((_action(job, code, end) for code in end.exit_codes), key=_WORST.index)


def depends_on_exit_codes(job: Job) -> bool:
    """Whether an exit code other than 143 and 137 could lead to a worse action."""
    rules = () if job.spec.pod_failure_policy is None else job.spec.pod_failure_policy.rules
    action = action_of(job)
    for rule in rules:
        if rule.on_exit_codes is None and _matches(rule, None, EVICTED):
            return False
        if rule.on_exit_codes is not None and _WORST.index(rule.action) < _WORST.index(action):
            return True
    return False


def _action(job: Job, exit_code: int | None, end: PodEnd) -> Action:
    """The action of the first rule that matches this exit code; Count if none does."""
    policy = job.spec.pod_failure_policy
    rules = () if policy is None else policy.rules
    return next((rule.action for rule in rules if _matches(rule, exit_code, end)), "Count")


def _matches(rule: PodFailureRule, exit_code: int | None, end: PodEnd) -> bool:
    if rule.on_exit_codes is not None:
        asked = rule.on_exit_codes
        return exit_code is not None and (exit_code in asked.values) == (asked.operator == "In")
    return any((one.type, one.status) in end.conditions for one in rule.on_pod_conditions)
