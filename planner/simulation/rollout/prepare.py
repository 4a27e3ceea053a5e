"""What an apply changes: the workloads that roll, with the pods that they have and may come to have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from itertools import compress
from operator import not_
from typing import Any

from models import Cluster
from models.controllers.apply import (
    ROLLED_OUT,
    applied,
    built_in,
    kept_numbers,
    made_by_deployments,
    not_anywhere,
    second_ones,
    workloads_in,
)
from models.controllers.jobs import managed_elsewhere
from models.controllers.owners import ByController
from models.errors import InputError
from models.objects.custom_workload import is_custom
from models.objects.selectors import LabelSelector
from models.snapshot import Snapshot
from models.words import counted, listed
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD, Effort
from planner.scheduler.profile import profiles_of
from planner.scheduler.remarks import remarks
from planner.simulation.rollout.controllers import ControllerRun
from planner.simulation.rollout.makers import ClusterFacts, Maker, Rolling, maker_of, removed
from planner.simulation.rollout.refused import refusals, unevaluated
from planner.simulation.rollout.slots import Slots
from planner.whatif.victims import as_of

_NOW = timedelta()
#: Fields of a snapshot that are no objects to be applied.
_NO_MANIFESTS = {"admitted_templates", "replaced", "removed", "notes"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A cluster with everything that may happen to it, compiled once for any number of draws."""

    cluster: Cluster
    problem: Problem
    absent: Sequence[int]
    doubles: Mapping[int, int]
    makers: Sequence[Maker]
    notes: Sequence[str]
    gone: Sequence[Rolling] = ()
    """Workloads that the apply removes."""
    taken: datetime | None = None
    """When the snapshot was."""
    effort: Effort = STANDARD

    def runs(self, later: timedelta = _NOW) -> list[ControllerRun]:
        """The controllers of all workloads concerned, when the apply comes so much after the snapshot."""
        return [maker.run(self.problem.pod_index, later) for maker in self.makers]

    @property
    def workloads(self) -> list[Rolling]:
        """The workloads concerned, in the order of the runs."""
        return [maker.owner for maker in self.makers]


def prepare(
    cluster: Cluster, manifests: Snapshot, gone: Sequence[Rolling] = (), effort: Effort = STANDARD
) -> Prepared:
    """Apply the manifests, remove what is to go, and make ready whatever controllers may need on the way."""
    problems = [
        *not_anywhere(cluster, manifests),
        *refusals(cluster, manifests),
        *_nowhere(cluster, manifests),
    ]
    if problems:
        raise InputError(problems)
    after = applied(cluster, manifests)
    slots = Slots(_as_admitting(cluster, after))
    names = {node.name for node in after.nodes}
    pods = [pod for pod in cluster.pods if pod.is_finished or not pod.node_name or pod.node_name in names]
    known = ClusterFacts(ByController(pods), ByController(after.replica_sets), as_of(cluster), after.nodes)
    makers = [*_makers(cluster, after, manifests, known, slots), *(removed(item, known) for item in gone)]
    there = {item.key for item in after.replica_sets}
    stand_ins = tuple(item for maker in makers for item in maker.sets if item.key not in there)
    everything = replace(
        after,
        pods=after.pods + tuple(slots.pods),
        replica_sets=after.replica_sets + stand_ins,
        persistent_volume_claims=after.persistent_volume_claims + tuple(slots.claims),
    )
    plain = Problem(everything)
    absent = [plain.pod_index[pod.key] for pod in slots.pods]
    runs = [maker.run(plain.pod_index, _NOW) for maker in makers]
    moving = list(dict.fromkeys(pod for run in runs for pod in run.pods))
    doubles = {pod: len(plain.pods) + place for place, pod in enumerate(moving)}
    notes = (
        *cluster.notes,
        *manifests.notes,
        *plain.notes,
        *remarks(plain, {*absent}),
        *_of_other_schedulers(after, manifests),
        *slots.notes,
        *second_ones(cluster, manifests),
        *kept_numbers(cluster, manifests),
        *not_played(manifests),
        *_paused(after, manifests),
        *_idle_jobs(after, manifests),
        *_on_delete_beside_rolling(cluster, manifests),
        *managed_elsewhere(manifests.jobs),
        *unevaluated(cluster, manifests),
    )
    problem = plain.with_leaving(moving)
    return Prepared(everything, problem, absent, doubles, makers, notes, gone, known.now, effort)


def without_made(cluster: Cluster, manifests: Snapshot) -> tuple[Snapshot, Sequence[str]]:
    """The manifests without the ReplicaSets that Deployments and Rollouts make, and a note where some are."""
    found = made_by_deployments(cluster, manifests)
    if not found:
        return manifests, ()
    made = {item.key for item in found}
    own = tuple(item for item in manifests.replica_sets if item.key not in made)
    kinds = {item.metadata.controller.kind for item in found if item.metadata.controller is not None}
    if len(made) == 1:
        note = f"ReplicaSet {min(made)} is left to its {min(kinds)}: its manifest is not applied"
    else:
        makers = " and ".join(f"{kind}s" for kind in sorted(kinds))
        note = f"{len(made)} ReplicaSets are left to their {makers}: their manifests are not applied"
    return replace(manifests, replica_sets=own), (note,)


def _nowhere(cluster: Cluster, manifests: Snapshot) -> Iterator[str]:
    """Workloads whose template names a node that is not there: no kubelet would ever run their pods."""
    names = {node.name for node in (*cluster.nodes, *manifests.nodes)}
    for item in workloads_in(manifests):
        spec = item.spec.template.spec if item.spec.template else None
        if spec is not None and spec.node_name and spec.node_name not in names:
            place = f"{item.kind} {item.key}, spec.template.spec.nodeName"
            yield f'{place}: there is no node "{spec.node_name}"'


def _of_other_schedulers(after: Snapshot, manifests: Snapshot) -> Iterator[str]:
    """A note for each applied workload whose pods no scheduler places that is known here."""
    known = profiles_of(after.scheduler_config)
    for item in workloads_in(manifests):
        spec = item.spec.template.spec if item.spec.template else None
        if spec is not None and spec.scheduler_name not in known:
            asks = f"{item.kind} {item.key} asks for scheduler {spec.scheduler_name}"
            yield f"{asks}, which has no profile here: its new pods are left alone"


def _paused(after: Snapshot, manifests: Snapshot) -> Iterator[str]:
    """A note for each Deployment that rolls nothing out."""
    applied_ones = {item.key for item in manifests.deployments}
    for item in after.deployments:
        if item.spec.paused and item.key in applied_ones and not is_custom(item):
            yield f"{item.kind} {item.key} is paused: it is only scaled, and no template is rolled out"


def _idle_jobs(after: Cluster, manifests: Snapshot) -> Iterator[str]:
    """A note for each Job that is to have no active pods, though it has not ended."""
    applied_jobs = {job.key for job in manifests.jobs}
    for job in after.jobs:
        if job.key in applied_jobs and not (job.spec.parallelism or job.is_finished):
            so_far = "it has no active pods, and does not complete while that is so"
            yield f"Job {job.key} has parallelism 0: {so_far}"


def _on_delete_beside_rolling(cluster: Cluster, manifests: Snapshot) -> Iterator[str]:
    """A note for each StatefulSet whose manifest turns to OnDelete, and leaves what rolling updates had."""
    rolling = {
        item.key
        for item in cluster.stateful_sets
        if item.spec.update_strategy.type == "RollingUpdate" and not is_custom(item)
    }
    tried = (*cluster.admitted_templates, *manifests.admitted_templates)
    asked = {(item.workload_kind, f"{item.namespace}/{item.workload_name}") for item in tried}
    for item in manifests.stateful_sets:
        strategy = item.spec.update_strategy
        unsaid = strategy.type == "OnDelete" and "rolling_update" not in strategy.model_fields_set
        if unsaid and item.key in rolling and (item.kind, item.key) not in asked and not is_custom(item):
            yield (
                f"StatefulSet {item.key} has a rollingUpdate, which the API server refuses beside OnDelete "
                "and kubectl leaves unless it was applied: with rollingUpdate: null in the manifest it goes"
            )


def _as_admitting(cluster: Cluster, after: Cluster) -> Cluster:
    """The cluster that was, with what the API server goes by once the manifests are applied."""
    return replace(
        cluster,
        admitted_templates=after.admitted_templates,
        limit_ranges=after.limit_ranges,
        namespaces=after.namespaces,
        priority_classes=after.priority_classes,
        runtime_classes=after.runtime_classes,
        service_accounts=after.service_accounts,
    )


def _applied_fields(manifests: Snapshot) -> list[str]:
    """The fields of a snapshot that hold objects to be applied."""
    names = (field.name for field in fields(manifests) if field.name not in _NO_MANIFESTS)
    return [name for name in names if isinstance(getattr(manifests, name), tuple)]


def selected(manifests: Snapshot, selector: LabelSelector) -> tuple[Snapshot, Sequence[str]]:
    """The manifests that `kubectl apply -l` takes, and a note about the others."""
    kept: dict[str, Any] = {}
    others: list[str] = []
    for field in _applied_fields(manifests):
        found = getattr(manifests, field)
        matching = [selector.matches(item.metadata.labels) for item in found]
        kept[field] = tuple(compress(found, matching))
        others += [f"{item.kind} {item.key}" for item in compress(found, map(not_, matching))]
    if not others:
        return manifests, ()
    objects = counted(len(others), "object")
    note = f"{objects} without the labels of --prune: kubectl apply leaves out {listed(others)}"
    return replace(manifests, **kept), (note,)


def pruned(cluster: Cluster, manifests: Snapshot, selector: LabelSelector) -> list[Rolling]:
    """What `kubectl apply --prune` removes: workloads that the selector chooses and no manifest has.

    As with kubectl only in namespaces that manifests of any kind are applied to, nothing that a controller
    owns, and none of the kinds that are not built in.
    """
    keys = {(field, item.key) for field in ROLLED_OUT for item in getattr(manifests, field)}
    objects = (item for field in _applied_fields(manifests) for item in getattr(manifests, field))
    namespaces = {item.namespace for item in objects}
    return [
        item
        for field in ROLLED_OUT
        for item in getattr(cluster, field)
        if (field, item.key) not in keys
        and item.namespace in namespaces
        and item.metadata.controller is None
        and not is_custom(item)
        and selector.matches(item.metadata.labels)
    ]


def not_played(manifests: Snapshot) -> Iterator[str]:
    """What of the manifests is not followed to its end: what others control, CronJobs, pods by themselves."""
    for cron_job in manifests.cron_jobs:
        yield f"CronJob {cron_job.key}: the Jobs that it will start are not played"
    for pod in manifests.pods:
        if pod.metadata.controller is None and not pod.node_name:
            yield f"Pod {pod.key} takes room if it finds a node: simulate tells whether it does"
    for item in filter(is_custom, workloads_in(manifests)):
        name = "Argo Rollouts" if item.kind == "Rollout" else "OpenKruise"
        yield (
            f"{item.kind} {item.key}: how {name} replaces its pods is not played; those that run stay as "
            "they are here"
        )


def _makers(
    cluster: Cluster, after: Cluster, manifests: Snapshot, known: ClusterFacts, slots: Slots
) -> Iterator[Maker]:
    """One for every workload in the manifests, in the order of its kind."""
    found = {(item.kind, item.key): item for item in workloads_in(after) if not is_custom(item)}
    for item, before in built_in(cluster, manifests):
        yield maker_of(found[item.kind, item.key], before, known, slots)
