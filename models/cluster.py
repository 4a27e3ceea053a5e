"""The snapshot: every object that the planner knows of, in one frozen value."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.descheduler import DeschedulerPolicy
from models.disruption import PodDisruptionBudget
from models.manifests import read_files, read_objects
from models.node import Node
from models.pause import collector_paused
from models.pod import Pod
from models.scheduler_config import KubeSchedulerConfiguration
from models.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from models.workload import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    Namespace,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes, pods and all else that decides on placement; `notes` are words for the user."""

    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    services: tuple[Service, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    replica_sets: tuple[ReplicaSet, ...] = ()
    stateful_sets: tuple[StatefulSet, ...] = ()
    daemon_sets: tuple[DaemonSet, ...] = ()
    jobs: tuple[Job, ...] = ()
    cron_jobs: tuple[CronJob, ...] = ()
    replication_controllers: tuple[ReplicationController, ...] = ()
    pod_disruption_budgets: tuple[PodDisruptionBudget, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    persistent_volumes: tuple[PersistentVolume, ...] = ()
    persistent_volume_claims: tuple[PersistentVolumeClaim, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    csi_nodes: tuple[CSINode, ...] = ()
    volume_attachments: tuple[VolumeAttachment, ...] = ()
    scheduler_config: KubeSchedulerConfiguration | None = None
    descheduler_policy: DeschedulerPolicy | None = None
    notes: tuple[str, ...] = ()

    @staticmethod
    def load(*sources: str | Path, recursive: bool = False) -> "Cluster":
        """The cluster in these files and folders; `-` is standard input."""
        return read(sources, recursive=recursive)

    @staticmethod
    def from_objects(objects: Iterable[Mapping[str, Any]]) -> "Cluster":
        """The cluster made of these objects, each a dictionary as Kubernetes would print it."""
        # Assembling needs this class, so its module can only come later.
        from models.snapshot import assemble

        return assemble(read_objects(objects))


def read(sources: Sequence[str | Path], *, recursive: bool = False, stdin: bytes | None = None) -> Cluster:
    """The cluster in these files and folders; `stdin` stands in for standard input."""
    from models.snapshot import assemble

    with collector_paused():
        return assemble(read_files(sources, recursive=recursive, stdin=stdin))
