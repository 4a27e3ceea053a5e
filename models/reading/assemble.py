"""Documents -> Snapshot: what was read, what controllers and admission would add, and notes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from models.controllers.admission import Priorities, merge_label_keys
from models.controllers.expand import expand, new_claims
from models.errors import InputError
from models.objects.base import NamespacedObject
from models.objects.pod import Pod
from models.reading.documents import Document
from models.reading.object_index import ObjectIndex
from models.snapshot import Snapshot

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
    "PodDisruptionBudget": "pod_disruption_budgets",
    "PriorityClass": "priority_classes",
    "PersistentVolume": "persistent_volumes",
    "PersistentVolumeClaim": "persistent_volume_claims",
    "StorageClass": "storage_classes",
    "CSINode": "csi_nodes",
    "VolumeAttachment": "volume_attachments",
}
_MOST_NAMES = 3


def assemble(documents: Sequence[Document]) -> Snapshot:
    """The snapshot that the documents make; an InputError with all that contradicts itself."""
    shelf = ObjectIndex()
    shelf.put_all(documents)
    found = Snapshot(
        **{field: shelf.all_of(kind) for kind, field in _FIELDS.items()},
        scheduler_config=next(iter(shelf.all_of("KubeSchedulerConfiguration")), None),
        descheduler_policy=next(iter(shelf.all_of("DeschedulerPolicy")), None),
    )
    added = expand(found)
    read = ((pod, pod, "spec") for pod in found.pods)
    made = ((new.pod, new.workload, "spec.template.spec") for new in added.pods)
    pods = tuple(_admitted(chain(read, made), Priorities(found.priority_classes), shelf))
    if shelf.problems:
        raise InputError(shelf.problems)
    return replace(
        found,
        pods=pods,
        replica_sets=found.replica_sets + added.replica_sets,
        persistent_volume_claims=found.persistent_volume_claims + tuple(new_claims(found, added.pods)),
        notes=(*shelf.notes, *_skipped(documents), *_bound_to_nowhere(found)),
    )


def _admitted(
    pods: Iterable[tuple[Pod, NamespacedObject, str]], priorities: Priorities, shelf: ObjectIndex
) -> Iterator[Pod]:
    """The pods with their priorities; each comes with the object and field that it is from."""
    unknown: set[str] = set()
    for pod, source, field in pods:
        try:
            admitted = priorities.admit(pod)
        except KeyError:
            place = f"{shelf.places[source.kind, source.key]}, {source.kind} {source.key}"
            name = pod.spec.priority_class_name
            unknown.add(f"{place}, {field}.priorityClassName: there is no PriorityClass {name!r}")
        else:
            # What has no creation time comes from a manifest: the API server has not merged it yet.
            yield admitted if admitted.metadata.creation_timestamp else merge_label_keys(admitted)
    shelf.problems += sorted(unknown)


def _skipped(documents: Iterable[Document]) -> Iterator[str]:
    """One note about all objects of kinds that the planner does not read."""
    skipped = sum((document.skipped for document in documents), Counter[str]())
    if skipped:
        kinds = ", ".join(sorted(skipped))
        objects, of_kinds = _counted(skipped.total(), "object"), _plural(len(skipped), "kind")
        yield f"skipped {objects} of {of_kinds} {kinds}"


def _bound_to_nowhere(cluster: Snapshot) -> Iterator[str]:
    """One note about all pods whose node is not in the snapshot."""
    nodes = {node.name for node in cluster.nodes}
    lost = [pod for pod in cluster.pods if pod.node_name and pod.node_name not in nodes]
    if lost:
        names = ", ".join(f"{pod.key} on {pod.node_name}" for pod in lost[:_MOST_NAMES])
        more = ", ..." if len(lost) > _MOST_NAMES else ""
        pods = _counted(len(lost), "pod")
        yield f"left out {pods} bound to nodes that are not in the snapshot: {names}{more}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {_plural(number, noun)}"


def _plural(number: int, noun: str) -> str:
    return noun if number == 1 else f"{noun}s"
