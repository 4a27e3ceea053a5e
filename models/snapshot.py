"""The snapshot: every object that the planner knows of, in one frozen value."""

from dataclasses import dataclass

from models.objects.admitted import AdmittedTemplate
from models.objects.autoscaler import HorizontalPodAutoscaler
from models.objects.base import KubeObject
from models.objects.descheduler import DeschedulerPolicy
from models.objects.device import DeviceClass, ResourceClaim, ResourceClaimTemplate
from models.objects.disruption import PodDisruptionBudget
from models.objects.kubernetes_version import KubernetesVersion
from models.objects.node import Node
from models.objects.origin import SnapshotOrigin
from models.objects.pod import Pod
from models.objects.policy import LimitRange, ResourceQuota, RuntimeClass, ServiceAccount
from models.objects.scheduler_config import KubeSchedulerConfiguration
from models.objects.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from models.objects.webhooks import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    MutatingWebhookConfiguration,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
)
from models.objects.workload import (
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

#: The namespace that every cluster has, and that is never created anew.
KUBE_SYSTEM = "kube-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
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
    horizontal_pod_autoscalers: tuple[HorizontalPodAutoscaler, ...] = ()
    pod_disruption_budgets: tuple[PodDisruptionBudget, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    resource_quotas: tuple[ResourceQuota, ...] = ()
    limit_ranges: tuple[LimitRange, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()
    service_accounts: tuple[ServiceAccount, ...] = ()
    mutating_webhooks: tuple[MutatingWebhookConfiguration, ...] = ()
    validating_webhooks: tuple[ValidatingWebhookConfiguration, ...] = ()
    mutating_policies: tuple[MutatingAdmissionPolicy, ...] = ()
    mutating_policy_bindings: tuple[MutatingAdmissionPolicyBinding, ...] = ()
    validating_policies: tuple[ValidatingAdmissionPolicy, ...] = ()
    validating_policy_bindings: tuple[ValidatingAdmissionPolicyBinding, ...] = ()
    persistent_volumes: tuple[PersistentVolume, ...] = ()
    persistent_volume_claims: tuple[PersistentVolumeClaim, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    csi_nodes: tuple[CSINode, ...] = ()
    volume_attachments: tuple[VolumeAttachment, ...] = ()
    resource_claims: tuple[ResourceClaim, ...] = ()
    resource_claim_templates: tuple[ResourceClaimTemplate, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    admitted_templates: tuple[AdmittedTemplate, ...] = ()
    scheduler_config: KubeSchedulerConfiguration | None = None
    descheduler_policy: DeschedulerPolicy | None = None
    origin: SnapshotOrigin | None = None
    replaced: tuple[KubeObject, ...] = ()
    """What later files replaced: objects as the earlier ones have them."""
    kubernetes: KubernetesVersion | None = None
    """The release whose decisions the user asked for."""
    supposed: bool = False
    """Whether it was changed on purpose after it was read."""
    removed: tuple[str, ...] = ()
    """The nodes that were taken away then."""
    notes: tuple[str, ...] = ()

    def has_all_of(self, kind: str) -> bool:
        """Whether what is not here of a kind, such as `runtimeclasses`, is not in the cluster either."""
        return self.origin is not None and kind in self.origin.kinds

    def is_unseen(self, kind: str) -> bool:
        """Whether there may be more objects of a kind: their reader had no right to list them."""
        return self.origin is not None and bool(self.origin.kinds) and kind not in self.origin.kinds

    @property
    def uid(self) -> str:
        """What tells this cluster from others: the uid of kube-system; empty when the snapshot lacks it."""
        if self.origin is not None and self.origin.cluster:
            return self.origin.cluster
        return next((item.metadata.uid for item in self.namespaces if item.name == KUBE_SYSTEM), "")
