"""The kinds of objects that the planner reads, by API group."""

from difflib import get_close_matches
from functools import lru_cache

from models.objects.admitted import AdmittedTemplate
from models.objects.autoscaler import HorizontalPodAutoscaler
from models.objects.base import KubeObject
from models.objects.custom_workload import ARGO, KRUISE, CloneSet, Rollout
from models.objects.descheduler import DeschedulerPolicy
from models.objects.device import DeviceClass, ResourceClaim, ResourceClaimTemplate
from models.objects.disruption import PodDisruptionBudget
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

#: Every kind, by its API group.
GROUPS: dict[str, tuple[type[KubeObject], ...]] = {
    "": (
        LimitRange,
        Namespace,
        Node,
        PersistentVolume,
        PersistentVolumeClaim,
        Pod,
        ReplicationController,
        ResourceQuota,
        Service,
        ServiceAccount,
    ),
    "admissionregistration.k8s.io": (
        MutatingAdmissionPolicy,
        MutatingAdmissionPolicyBinding,
        MutatingWebhookConfiguration,
        ValidatingAdmissionPolicy,
        ValidatingAdmissionPolicyBinding,
        ValidatingWebhookConfiguration,
    ),
    "apps": (DaemonSet, Deployment, ReplicaSet, StatefulSet),
    KRUISE: (CloneSet, StatefulSet),
    ARGO: (Rollout,),
    "autoscaling": (HorizontalPodAutoscaler,),
    "batch": (CronJob, Job),
    "descheduler": (DeschedulerPolicy,),
    "kubescheduler.config.k8s.io": (KubeSchedulerConfiguration,),
    "node.k8s.io": (RuntimeClass,),
    "planner": (AdmittedTemplate, SnapshotOrigin),
    "policy": (PodDisruptionBudget,),
    "resource.k8s.io": (DeviceClass, ResourceClaim, ResourceClaimTemplate),
    "scheduling.k8s.io": (PriorityClass,),
    "storage.k8s.io": (CSINode, StorageClass, VolumeAttachment),
}
MODELS = {model.__name__: model for models in GROUPS.values() for model in models}
_GROUPS_OF = {
    kind: frozenset(group for group, models in GROUPS.items() if model in models)
    for kind, model in MODELS.items()
}


@lru_cache(maxsize=1024)
def is_known(api_version: str, kind: str) -> bool:
    """Whether the planner reads this kind; a missing apiVersion is taken as the usual one."""
    group = api_version.rpartition("/")[0]
    return kind in MODELS and (not api_version or group in _GROUPS_OF[kind])


#: So alike are a name and its misspelling; no two kinds of a group of Kubernetes are, in any release.
_ALIKE = 0.85


@lru_cache(maxsize=1024)
def meant(api_version: str, kind: str) -> str:
    """The kind of the same group of Kubernetes that a misspelled one was to be; empty where none is alike."""
    group = api_version.rpartition("/")[0]
    known = {} if group in (KRUISE, ARGO) else {item.__name__.lower(): item for item in GROUPS.get(group, ())}
    return next((known[name].__name__ for name in get_close_matches(kind.lower(), known, 1, _ALIKE)), "")


def skipped_kind(api_version: str, kind: str) -> str:
    """What is not read, by name: with its apiVersion where the planner reads this kind in another group."""
    return f"{kind} ({api_version})" if kind in MODELS else kind
