"""What the API server refuses in an apply because of what is there: fields that may not be changed.

What it refuses of a manifest by itself is told by `models.admission.validation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from models.controllers.apply import built_in
from models.controllers.owners import ByController, is_live
from models.controllers.templates import usable
from models.objects.containers import ResourceRequirements
from models.objects.pod import Pod, PodTemplateSpec
from models.objects.storage import PersistentVolumeClaim
from models.objects.workload import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    Workload,
)
from models.snapshot import Snapshot
from planner.simulation.rollout.slots import same_template

#: Labels that the Job controller adds to the template.
_OF_JOBS = {
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
}


def refusals(cluster: Snapshot, manifests: Snapshot) -> Iterator[str]:
    """The workloads that would not be applied, each with what the API server has against it."""
    pods = ByController(filter(is_live, cluster.pods))
    for item, before in built_in(cluster, manifests):
        yield from (f"{item.kind} {item.key}: {why}" for why in _against(item, before, pods))


def _against(item: Workload, before: Workload | None, pods: ByController[Pod]) -> Iterator[str]:
    if not (usable(item.spec.template) or (before and _abridged(item, before, pods.of(before)))):
        yield "spec.template.spec.containers: Required value"
    if isinstance(item, Deployment | ReplicaSet | DaemonSet | StatefulSet) and item.spec.selector is None:
        yield "spec.selector: Required value"
    if before is not None:
        yield from _changed(item, before)


def _abridged(item: Workload, before: Workload, there: Sequence[Pod]) -> bool:
    """Whether the snapshot itself has no template, and nothing asks for it."""
    kept = isinstance(item, ReplicaSet | ReplicationController) and len(there) >= item.spec.replicas
    return kept and usable(before.spec.template) is None


def _changed(item: Workload, before: Workload) -> Iterator[str]:
    if isinstance(item, Deployment | ReplicaSet | DaemonSet) and isinstance(before, type(item)):
        selectors = [one.spec.selector for one in (item, before)]
        if None not in selectors and selectors[0] != selectors[1]:
            yield "spec.selector: Invalid value: field is immutable"
    if isinstance(item, StatefulSet) and isinstance(before, StatefulSet) and _fixed(item) != _fixed(before):
        yield (
            "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', "
            "'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' "
            "and 'minReadySeconds' are forbidden"
        )
    if isinstance(item, Job) and isinstance(before, Job):
        yield from _changed_job(item, before)


def _changed_job(item: Job, before: Job) -> Iterator[str]:
    kept = _while_suspended if before.spec.suspend else _without_labels_of_jobs
    if not same_template(kept(before.spec.template), kept(item.spec.template)):
        yield "spec.template: Invalid value: field is immutable"
    fixed = {
        "completion_mode": "completionMode",
        "pod_failure_policy": "podFailurePolicy",
        "backoff_limit_per_index": "backoffLimitPerIndex",
        "managed_by": "managedBy",
    }
    # An indexed Job may be made larger or smaller, with as many pods at a time as there are completions.
    elastic = before.spec.completion_mode == "Indexed" and item.spec.completions == item.spec.parallelism
    if not elastic and item.spec.completions != before.spec.wanted_completions:
        fixed["completions"] = "completions"
    for name, field in fixed.items():
        if name in item.spec.model_fields_set and getattr(item.spec, name) != getattr(before.spec, name):
            yield f"spec.{field}: Invalid value: field is immutable"


def _fixed(item: StatefulSet) -> object:
    """What of a StatefulSet stays for ever."""
    claims = sorted(map(_claim, item.spec.volume_claim_templates))
    return item.spec.selector, item.spec.service_name, item.spec.pod_management_policy, claims


def _claim(item: PersistentVolumeClaim) -> tuple[str, ...]:
    spec = item.spec
    asked = repr(sorted(spec.access_modes)), repr(sorted(spec.resources.requests.items()))
    return item.name, *asked, repr(spec.storage_class_name), spec.volume_mode


def _without_labels_of_jobs(template: PodTemplateSpec | None) -> PodTemplateSpec | None:
    if template is None:
        return None
    labels = {key: text for key, text in template.metadata.labels.items() if key not in _OF_JOBS}
    return template.changed("metadata", labels=labels)


def _while_suspended(template: PodTemplateSpec | None) -> PodTemplateSpec | None:
    """What of a template stays while the Job is suspended: not what chooses nodes, nor what is asked for."""
    if template is None or template.spec is None:
        return template
    spec = template.spec
    affinity = spec.affinity and spec.affinity.model_copy(update={"node_affinity": None})
    free: dict[str, object] = {"node_selector": {}, "tolerations": (), "scheduling_gates": ()}
    free["affinity"] = (
        affinity if affinity and (affinity.pod_affinity or affinity.pod_anti_affinity) else None
    )
    bare = spec.with_containers(lambda one: one.model_copy(update={"resources": ResourceRequirements()}))
    return PodTemplateSpec(spec=bare.model_copy(update=free))
