"""Whether the controller of an evicted pod makes another one like it; every engine that evicts asks this.

A controller that is gone or being deleted makes no pod, nor does one that has too many.  During a rollout
the next pod may be of another revision.  A StatefulSet with OrderedReady makes a pod only when all lower
ordinals are ready.  To a Job an evicted pod is a failed one (`jobs.py`).

A controller counts as gone where the snapshot has others of its kind in the same namespace, or in any
namespace when the snapshot is of a live cluster: many snapshots hold nodes and pods alone.  Workloads
without a uid or without replicas were written by hand and are no evidence about others.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from models import Cluster
from models.controllers.jobs import replaces_ended_only, wanted_of
from models.controllers.owners import ByController, is_live
from models.controllers.reconcile import workloads_of
from models.controllers.replicas import emptied
from models.controllers.stateful import set_key
from models.controllers.templates import stand_in_uid
from models.objects.base import OwnerReference
from models.objects.custom_workload import CloneSet, Rollout
from models.objects.pod import Pod
from models.objects.workload import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    Workload,
)
from planner.eviction.jobs import Impact, JobDisruptions, is_of_job
from planner.eviction.ordinals import Ordinals
from planner.eviction.replacements import OTHER_AFFINITY, RESIZED, ReplacementAdmission
from planner.problem.problem import Problem

GONE = "whose controller is gone"
DELETED = "whose controller is being deleted"
#: Why pods of an old revision stay: the rollout deletes them anyway.
EMPTIED = "of a ReplicaSet that a rollout is emptying"
UNSEEN = "of a workload whose newest change has not been acted on yet"
SURPLUS = "of a workload that has more pods than it wants"
ROLLED_OUT = "of a DaemonSet that is being rolled out"
CLONES_ROLLED_OUT = "of a CloneSet that is being rolled out"
#: A canary or blue-green update may stay as it is for days, and go on at any moment.
BETWEEN = "of an older ReplicaSet of a Rollout that is between two"
#: The claim goes with the pod; the next pod has a claim of its own, which binds wherever that pod lands.
EPHEMERAL = "with an ephemeral volume"
#: The devices go back with the pod; which ones the next pod gets, and on which node, is not judged.
DEVICES = "whose devices are not passed on to a replacement"
#: No scheduler is asked about the next pod, nor does a cordon keep it off.
BOUND = "whose template names its node"
GATED = "whose replacement would wait for its scheduling gate"
#: The Job would survive the eviction, but moving pods of Jobs was not allowed.
OF_JOB = "of a Job"
JOB_FAILS = "of a Job that would not survive it"
JOB_UNKNOWN = "of a Job that was not read"
JOB_ELSEWHERE = "of a Job that another controller manages"

_Owner = tuple[str, str, str]
_COUNTED = Deployment | ReplicaSet | ReplicationController


class Controllers:
    """For every pod why its controller would not replace it by one like it, if so."""

    def __init__(self, problem: Problem, *, jobs: bool = False) -> None:
        """With `jobs` pods of Jobs may be moved if the Job survives the eviction."""
        self._problem = problem
        self._may_move_jobs = jobs
        self._workloads = workloads_of(problem.cluster)
        self._ordinals = Ordinals(problem.cluster)
        self._emptied = {id(found) for found in _emptied(problem.cluster)}
        self._of_template: dict[int, str] = {}
        self._admission = ReplacementAdmission(problem, self._workloads)
        self.jobs = JobDisruptions(problem.cluster)

    def why_not(self, pod: int) -> str:
        """Why a pod stays on its node; empty where its controller would replace it."""
        number = int(self._problem.template_of[pod])
        if number not in self._of_template:
            self._of_template[number] = self._why_none_of_template(number)
        owner = self._problem.templates[number].owner
        if self._of_template[number] or owner is None:
            return self._of_template[number]
        found = self._problem.pods[pod]
        return self._why_not_by_kind(found, owner) or (RESIZED if self._admission.is_resized(found) else "")

    def _why_not_by_kind(self, pod: Pod, owner: OwnerReference) -> str:
        if is_of_job(owner):
            return self._why_not_of_job(pod)
        # Called for tens of thousands of pods, most of them of ReplicaSets.
        return self._ordinals.why_not(pod) if owner.kind == "StatefulSet" else ""

    def takes_as_much(self, pod: int) -> bool:
        """Whether what comes in place of a lost pod is certain to come, and asks for as much room."""
        found, why = self._problem.pods[pod], self.why_not(pod)
        owner = found.metadata.controller
        if why in {EPHEMERAL, DEVICES, OTHER_AFFINITY} and owner is not None:
            # Another claim or node needs no other room, but stands before other reasons.
            why = self._why_not_admitted(found) or self._why_not_by_kind(found, owner)
        return why in {"", OF_JOB} and not self._admission.is_resized(found)

    def is_made_again(self, pod: int) -> bool:
        """Whether the pod has a controller that still exists and makes pods."""
        found = self._problem.pods[pod]
        return found.metadata.controller is not None and self._why_none(found) not in {
            GONE,
            DELETED,
            JOB_ELSEWHERE,
        }

    def is_orphan(self, pod: int) -> bool:
        """Whether the pod is of a DaemonSet that is gone, and there is none of its name."""
        found = self._problem.pods[pod]
        owner = found.metadata.controller
        is_of_daemon_set = owner is not None and owner.kind == "DaemonSet"
        return is_of_daemon_set and self._why_none(found) == GONE and not self._workloads.has_other(found)

    def next_bound_to(self, pod: int) -> str:
        """The node that what comes in a pod's place is on from the start, cordoned or not; empty: none."""
        return self._admission.bound_to(self._problem.pods[pod]) if self.is_wanted(pod) else ""

    def is_wanted(self, pod: int) -> bool:
        """Whether its controller makes pods, and if that is a StatefulSet, one of its ordinal."""
        return self.is_made_again(pod) and self._ordinals.is_wanted(self._problem.pods[pod])

    def too_many(self, pods: Iterable[int]) -> Iterator[tuple[frozenset[int], int]]:
        """For every controller that has too many pods, its pods among these and how many are too many."""
        members: dict[_Owner, set[int]] = defaultdict(set)
        surplus: dict[_Owner, int] = {}
        for number in pods:
            pod = self._problem.pods[number]
            owner = self._workloads.controller_of(pod)
            if owner is None:
                continue
            key = pod.namespace, owner.kind, owner.name
            if key not in surplus:
                wanted = self._wanted(owner, self._workloads.above(pod))
                surplus[key] = int(max(0, self._live[key] - wanted))
            if surplus[key]:
                members[key].add(number)
        return ((frozenset(several), surplus[key]) for key, several in members.items())

    def others(self, pods: Iterable[int]) -> dict[int, Pod]:
        """By pod what comes in its place where that is another one to the scheduler."""
        found = ((pod, self._admission.other(self._problem.pods[pod])) for pod in pods)
        return {pod: other for pod, other in found if other is not None}

    def limits(self, pods: Iterable[int]) -> Iterator[tuple[frozenset[int], int]]:
        """For every Job that cannot survive all, its pods among these and how many evictions it survives."""
        for job, several in self._by_job(pods):
            retries = self.jobs.retries(job)
            if retries is not None and len(several) > retries:
                yield frozenset(several), retries

    def one_at_a_time(self, pods: Iterable[int]) -> Iterator[frozenset[int]]:
        """For every StatefulSet with OrderedReady, its pods among these: they are recreated one by one."""
        members: dict[_Owner, set[int]] = defaultdict(set)
        for number in pods:
            pod = self._problem.pods[number]
            owner = pod.metadata.controller
            if owner is not None and self._ordinals.is_ordered(pod):
                members[pod.namespace, owner.name, owner.uid].add(number)
        return (frozenset(several) for several in members.values())

    def job_of(self, pod: int) -> Job | None:
        return self.jobs.job_of(self._problem.pods[pod])

    def comes_after_the_end(self, pod: int) -> bool:
        """Whether what comes in a pod's place is made when it has ended: it has its name, or a Job waits."""
        job = self.job_of(pod)
        in_order = job is not None and replaces_ended_only(job)
        return in_order or set_key(self._problem.pods[pod]) is not None

    def impacts(self, pods: Sequence[int]) -> Iterator[tuple[Job, Impact]]:
        """What evictions do to the Jobs of some pods, in the order of the Jobs' names."""
        found = self._problem.pods
        for job, several in sorted(self._by_job(pods), key=lambda item: item[0].key):
            yield job, self.jobs.impact(job, [found[pod] for pod in pods if pod in several])

    def _by_job(self, pods: Iterable[int]) -> Iterator[tuple[Job, set[int]]]:
        """The Jobs of some pods, each with its pods among them."""
        if not self._has_jobs:
            return iter(())
        members: dict[str, set[int]] = defaultdict(set)
        known: dict[str, Job] = {}
        for number in pods:
            job = self.job_of(number)
            if job is not None:
                known[job.key] = job
                members[job.key].add(number)
        return ((known[key], several) for key, several in members.items())

    @cached_property
    def _has_jobs(self) -> bool:
        return any(is_of_job(template.owner) for template in self._problem.templates)

    def _why_none_of_template(self, number: int) -> str:
        pod = self._problem.templates[number].pod
        return (
            self._why_none(pod)
            or (BOUND if self._admission.bound_to(pod) else "")
            or self._why_other_claims(pod)
            or self._why_not_admitted(pod)
            or (OTHER_AFFINITY if self._admission.has_other_affinity(pod) else "")
        )

    def _why_other_claims(self, pod: Pod) -> str:
        """Why the next pod has claims of its own."""
        if any(volume.ephemeral is not None for volume in pod.spec.volumes):
            return EPHEMERAL
        return DEVICES if pod.spec.resource_claims and self._problem.devices.go_with(pod) else ""

    def _why_not_admitted(self, pod: Pod) -> str:
        return GATED if self._admission.is_gated(pod) else self._admission.why_not(pod)

    def _why_none(self, pod: Pod) -> str:
        """Why no pod of this pod's controller may be evicted, if so."""
        owner = self._workloads.controller_of(pod)
        if owner is None:
            return GONE if self._is_gone(pod) else ""
        above = self._workloads.above(pod)
        if any(item is not None and item.metadata.deletion_timestamp for item in (owner, above)):
            return DELETED
        if id(owner) in self._emptied:
            return BETWEEN if isinstance(above, Rollout) else EMPTIED
        if _is_unseen(above):
            return UNSEEN
        if self._live[pod.namespace, owner.kind, owner.name] > self._wanted(owner, above):
            return SURPLUS
        return _by_another(owner)

    def _is_gone(self, pod: Pod) -> bool:
        """Whether the pod's controller is missing from a snapshot that would have it."""
        owner = pod.metadata.controller
        if owner is None:
            return False
        live = self._problem.cluster.origin is not None
        return (
            self._workloads.has_other(pod)
            or (owner.kind if live else (owner.kind, pod.namespace)) in self._read
        )

    @cached_property
    def _read(self) -> set[object]:
        """The kinds of workloads read from an API server, alone and paired with their namespace."""
        read = [item for item in self._workloads.known if _is_from_api_server(item)]
        return {item.kind for item in read} | {(item.kind, item.namespace) for item in read}

    @cached_property
    def _live(self) -> Counter[_Owner]:
        """How many live pods every controller has."""
        found: Counter[_Owner] = Counter()
        counts = self._problem.pods_per_template.tolist()
        for template, pods in zip(self._problem.templates, counts, strict=True):
            if template.owner is not None and is_live(template.pod):
                found[template.namespace, template.owner.kind, template.owner.name] += pods
        return found

    def _wanted(self, owner: Workload, above: Workload | None) -> float:
        """The most pods a controller maintains; infinite where unknown, and for StatefulSets."""
        if isinstance(owner, Job) and owner.is_managed_elsewhere:
            return math.inf
        if isinstance(owner, Job):
            is_set = "parallelism" in owner.spec.model_fields_set or owner.is_finished or owner.spec.suspend
            return wanted_of(owner, self.jobs.pods_of(owner)) if is_set else math.inf
        scaled = [item for item in (owner, above) if isinstance(item, _COUNTED)]
        if not scaled or any("replicas" not in item.spec.model_fields_set for item in scaled):
            return math.inf
        if id(owner) in self._emptied:
            return scaled[0].spec.replicas
        # A Deployment that wants more than its ReplicaSet is about to scale that up.
        return max(item.spec.replicas for item in scaled)

    def _why_not_of_job(self, pod: Pod) -> str:
        """Why a pod of a Job stays: the Job is unknown or would fail, or moving its pods is not allowed."""
        job = self.jobs.job_of(pod)
        if job is None:
            return JOB_UNKNOWN
        if not self.jobs.survives(job, pod):
            return JOB_FAILS
        return "" if self._may_move_jobs else OF_JOB


def _emptied(cluster: Cluster) -> Iterator[ReplicaSet]:
    """The ReplicaSets that a rollout is scaling down to zero."""
    sets = ByController(cluster.replica_sets)
    for deployment in cluster.deployments:
        yield from emptied(sets.of(deployment))


def _is_from_api_server(item: Workload) -> bool:
    """Whether a workload was read from an API server: it has a real uid, and replicas where its kind has."""
    counted = not isinstance(item, _COUNTED | StatefulSet) or "replicas" in item.spec.model_fields_set
    return counted and item.metadata.uid not in ("", stand_in_uid(item.kind, item.key))


def _by_another(owner: Workload) -> str:
    """Why the next pod may be of another revision, as the controller itself says, or another's to make."""
    if isinstance(owner, Job):
        return JOB_ELSEWHERE if owner.is_managed_elsewhere else ""
    if isinstance(owner, CloneSet):
        return CLONES_ROLLED_OUT if owner.is_rolling else ""
    return ROLLED_OUT if isinstance(owner, DaemonSet) and owner.is_rolling else ""


def _is_unseen(owner: Workload | None) -> bool:
    """Whether the spec is newer than the generation its controller last observed, as far as known."""
    if not isinstance(owner, Deployment | StatefulSet | DaemonSet | CloneSet):
        return False
    seen = owner.status.observed_generation
    return seen is not None and seen < owner.metadata.generation
