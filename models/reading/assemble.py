"""Documents -> Snapshot: what was read, what controllers and admission would add, and notes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain

from models.admission.chain import Admission, is_new
from models.admission.pods import merge_label_keys
from models.admission.policies import newer_than_pods
from models.controllers.apply import not_anywhere, second_ones
from models.controllers.expand import expand, idle, new_claims
from models.controllers.pins import without_pins
from models.controllers.replicas import with_templates
from models.errors import InputError
from models.objects.pod import Pod
from models.reading.documents import ManifestDocument
from models.reading.object_index import ObjectIndex
from models.reading.unread import unread
from models.snapshot import Snapshot
from models.words import counted, plural

_FIELDS = {
    "Node": "nodes",
    "Pod": "pods",
    "Namespace": "namespaces",
    "Service": "services",
    "Deployment": "deployments",
    "ReplicaSet": "replica_sets",
    "StatefulSet": "stateful_sets",
    "DaemonSet": "daemon_sets",
    "Job": "jobs",
    "CronJob": "cron_jobs",
    "ReplicationController": "replication_controllers",
    "HorizontalPodAutoscaler": "horizontal_pod_autoscalers",
    "PodDisruptionBudget": "pod_disruption_budgets",
    "PriorityClass": "priority_classes",
    "ResourceQuota": "resource_quotas",
    "LimitRange": "limit_ranges",
    "RuntimeClass": "runtime_classes",
    "ServiceAccount": "service_accounts",
    "MutatingWebhookConfiguration": "mutating_webhooks",
    "ValidatingWebhookConfiguration": "validating_webhooks",
    "MutatingAdmissionPolicy": "mutating_policies",
    "MutatingAdmissionPolicyBinding": "mutating_policy_bindings",
    "ValidatingAdmissionPolicy": "validating_policies",
    "ValidatingAdmissionPolicyBinding": "validating_policy_bindings",
    "PersistentVolume": "persistent_volumes",
    "PersistentVolumeClaim": "persistent_volume_claims",
    "StorageClass": "storage_classes",
    "CSINode": "csi_nodes",
    "VolumeAttachment": "volume_attachments",
    "ResourceClaim": "resource_claims",
    "ResourceClaimTemplate": "resource_claim_templates",
    "DeviceClass": "device_classes",
    "AdmittedTemplate": "admitted_templates",
}
#: Workloads of others that are read as the built-in ones that they are like.
_LIKE = {"deployments": "Rollout", "replica_sets": "CloneSet"}
#: Kinds outside Kubernetes that make pods and are not read, as far as they are widely used.
_MAKERS = frozenset({"LeaderWorkerSet", "RayCluster", "SparkApplication"})


def assemble(documents: Sequence[ManifestDocument], *, partial: bool = False) -> Snapshot:
    """The snapshot that the documents make; an InputError with all that contradicts itself.

    A partial one is only what was read: it is to be applied to another, so nothing is added to it.
    """
    shelf = ObjectIndex()
    shelf.put_all(documents)
    found = Snapshot(
        kubernetes=None,
        supposed=False,
        **{
            field: (*shelf.all_of(kind), *shelf.all_of(_LIKE.get(field, "")))
            for kind, field in _FIELDS.items()
        },
        scheduler_config=next(iter(shelf.all_of("KubeSchedulerConfiguration")), None),
        descheduler_policy=next(iter(shelf.all_of("DeschedulerPolicy")), None),
        origin=next(iter(shelf.all_of("SnapshotOrigin")), None),
    )
    if partial:
        if shelf.problems:
            raise InputError(shelf.problems)
        return replace(found, notes=(*shelf.notes, *_skipped(documents, found)))
    shelf.problems += not_anywhere(found, found)
    found = without_pins(replace(found, deployments=tuple(with_templates(found))))
    added = expand(found)
    admission = Admission(found)
    pods = tuple(_admitted(chain(found.pods, (new.pod for new in added.pods)), admission, shelf))
    if shelf.problems:
        raise InputError(shelf.problems)
    return replace(
        found,
        pods=pods,
        replica_sets=found.replica_sets + added.replica_sets,
        persistent_volume_claims=found.persistent_volume_claims + tuple(new_claims(found, added.pods)),
        replaced=tuple(shelf.replaced),
        notes=(
            *(found.origin.remarks if found.origin else ()),
            *shelf.notes,
            *second_ones(found, found),
            *_skipped(documents, found),
            *unread(found),
            *idle(found),
            *admission.notes,
            *admission.unknowns(),
            *newer_than_pods(found),
        ),
    )


def _admitted(pods: Iterable[Pod], admission: Admission, shelf: ObjectIndex) -> Iterator[Pod]:
    """The pods as the API server has them; one that is there has the priority of a class that is known."""
    unknown: set[str] = set()
    for pod in pods:
        try:
            admitted = admission.admit(pod) if is_new(pod) else admission.prioritize(pod)
        except KeyError:
            place = f"{shelf.places[pod.kind, pod.key]}, {pod.kind} {pod.key}"
            name = pod.spec.priority_class_name
            unknown.add(f"{place}, spec.priorityClassName: there is no PriorityClass {name!r}")
        else:
            # What has no creation time comes from a manifest: the API server has not merged it yet.
            yield admitted if admitted.metadata.creation_timestamp else merge_label_keys(admitted)
    shelf.problems += sorted(unknown)


def _skipped(documents: Iterable[ManifestDocument], found: Snapshot) -> Iterator[str]:
    """Notes about objects of kinds that the planner does not read: those that make pods, and all others."""
    skipped = sum((document.skipped for document in documents), Counter[str]())
    if not skipped:
        return
    makers = _MAKERS.union(kind for kind in skipped if kind not in _FIELDS)
    running = _owned_by(makers, found)
    for kind in sorted(kind for kind in skipped if kind in running or kind in _MAKERS):
        objects, pods = counted(skipped.pop(kind), "object"), counted(running[kind], "running pod")
        yield f"skipped {objects} of kind {kind}, which makes pods; counted as found: {pods}"
    if skipped:
        kinds = ", ".join(sorted(skipped))
        objects, of_kinds = counted(skipped.total(), "object"), plural(len(skipped), "kind")
        yield f"skipped {objects} of {of_kinds} {kinds}"


def _owned_by(kinds: Set[str], found: Snapshot) -> Counter[str]:
    """How many pods these kinds control, themselves or by way of a ReplicaSet."""
    above = {item.key: item.metadata.controller for item in found.replica_sets}
    owned: Counter[str] = Counter()
    for pod in found.pods:
        owner = pod.metadata.controller
        if owner is not None and owner.kind == "ReplicaSet":
            owner = above.get(f"{pod.namespace}/{owner.name}") or owner
        if owner is not None and owner.kind in kinds:
            owned[owner.kind] += 1
    return owned
