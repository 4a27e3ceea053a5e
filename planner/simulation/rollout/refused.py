"""What the API server refuses in an apply because of what is there: fields that may not be changed.

Webhooks and policies that may change or refuse what an apply makes are not played.  What the API server
refuses of a manifest by itself is told by `models.admission.validation`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from models import Cluster
from models.admission.policies import AdmissionCheck, checks_in_force, labels_of_namespace
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


#: The API group of each kind that is applied, and its name in rules.
_RESOURCES = {
    "Deployment": ("apps", "deployments"),
    "ReplicaSet": ("apps", "replicasets"),
    "StatefulSet": ("apps", "statefulsets"),
    "DaemonSet": ("apps", "daemonsets"),
    "ReplicationController": ("", "replicationcontrollers"),
    "Job": ("batch", "jobs"),
}


def unevaluated(cluster: Cluster, manifests: Snapshot) -> Iterator[str]:
    """A note for each webhook or policy in force that is asked about a new template or its pods."""
    in_question = (*checks_in_force(cluster), *checks_in_force(manifests))
    concerned: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for item, is_new in _with_new_template(cluster, manifests):
        namespace = labels_of_namespace(item.namespace, cluster, manifests)
        for one in in_question:
            if _is_about(one, item, is_new=is_new, namespace=namespace):
                concerned[one.kind, one.name, one.does].append(f"{item.kind} {item.key}")
    for (kind, name, does), several in concerned.items():
        first, *more = dict.fromkeys(several)
        what = f"{first} or its pods" if not more else f"{first}, {len(more)} more, or their pods"
        yield f"{kind} {name} may {does} {what}: not evaluated here, --server-dry-run asks the API server"


def _with_new_template(cluster: Cluster, manifests: Snapshot) -> Iterator[tuple[Workload, bool]]:
    """The workloads with a template that does not run yet, and whether each is new."""
    tried = (*cluster.admitted_templates, *manifests.admitted_templates)
    told = {(item.namespace, item.workload_kind, item.workload_name) for item in tried}
    for item, old in built_in(cluster, manifests):
        is_told = (item.namespace, item.kind, item.name) in told
        if not is_told and (old is None or not same_template(old.spec.template, item.spec.template)):
            yield item, old is None


def _is_about(one: AdmissionCheck, item: Workload, *, is_new: bool, namespace: Mapping[str, str]) -> bool:
    pod = item.spec.template.metadata.labels if item.spec.template else {}
    requests = (
        ("", "pods", "CREATE", pod),
        (*_RESOURCES[item.kind], "CREATE" if is_new else "UPDATE", item.metadata.labels),
    )
    return any(
        one.covers(group, resource, operation) and one.reads(namespace, labels)
        for group, resource, operation, labels in requests
    )
