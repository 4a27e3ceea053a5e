"""Controllers and what goes with them: workloads, services, namespaces, priority classes."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from models.objects.base import LEAST_INT32, MOST_INT32, ClusterObject, KubeModel, NamespacedObject
from models.objects.pod import PodTemplateSpec
from models.objects.selectors import LabelSelector
from models.objects.share import Share
from models.objects.storage import PersistentVolumeClaim

METADATA_NAME = "kubernetes.io/metadata.name"
_Count = Annotated[int, Field(ge=0, le=MOST_INT32)]


class WorkloadSpec(KubeModel):
    """A selector over pods and the template that new ones are made from."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None

    @model_validator(mode="after")
    def _check_selector(self) -> Self:
        labels = self.template.metadata.labels if self.template else None
        if labels is not None and self.selector and not self.selector.matches(labels):
            raise ValueError(f"the selector does not match the template's labels {labels}")
        return self


class ScaledSpec(WorkloadSpec):
    """A workload with a number of replicas; a pod is available when it has been ready for so many seconds."""

    replicas: _Count = 1
    min_ready_seconds: _Count = 0


class RollingUpdate(KubeModel):
    """How many pods more, or fewer, there may be on the way; which of them are updated at all."""

    max_surge: Share | None = None
    max_unavailable: Share | None = None
    partition: _Count = 0


class UpdateStrategy(KubeModel):
    """How pods of an old template are replaced by those of a new one."""

    type: Literal["RollingUpdate", "Recreate", "OnDelete"] = "RollingUpdate"
    rolling_update: RollingUpdate = Field(default_factory=RollingUpdate)


class DaemonSetSpec(WorkloadSpec):
    """A workload with a pod on every fitting node."""

    update_strategy: UpdateStrategy = Field(default_factory=UpdateStrategy)
    min_ready_seconds: _Count = 0


class DeploymentSpec(ScaledSpec):
    """Replicas that are rolled over from one ReplicaSet to the next."""

    paused: bool = False
    strategy: UpdateStrategy = Field(default_factory=UpdateStrategy)
    progress_deadline_seconds: int = 600


class ReplicaSetSpec(ScaledSpec):
    """Replicas of one revision."""


class StatefulSetOrdinals(KubeModel):
    """The number of the first replica."""

    start: int = Field(default=0, ge=0, le=MOST_INT32)


class StatefulSetSpec(ScaledSpec):
    """Numbered replicas, each with claims of its own."""

    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    ordinals: StatefulSetOrdinals = Field(default_factory=StatefulSetOrdinals)
    service_name: str = ""
    pod_management_policy: Literal["OrderedReady", "Parallel"] = "OrderedReady"
    update_strategy: UpdateStrategy = Field(default_factory=UpdateStrategy)


class JobSpec(KubeModel):
    """Pods that run to their end; without completions, any success ends the job."""

    parallelism: _Count = 1
    completions: _Count | None = None
    completion_mode: Literal["NonIndexed", "Indexed"] = "NonIndexed"
    suspend: bool = False
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None

    @property
    def wanted_completions(self) -> int | None:
        """How many successes end the Job: one where the manifest names no numbers at all."""
        if self.completions is None and "parallelism" not in self.model_fields_set:
            return 1
        return self.completions


class ReplicationControllerSpec(KubeModel):
    """The forerunner of a ReplicaSet; its selector is a plain map."""

    replicas: _Count = 1
    min_ready_seconds: _Count = 0
    selector: dict[str, str] = Field(default_factory=dict)
    template: PodTemplateSpec | None = None

    @model_validator(mode="after")
    def _check_selector(self) -> Self:
        if self.template is None:
            return self
        labels = self.template.metadata.labels
        if not self.selector.items() <= labels.items():
            raise ValueError(f"the selector does not match the template's labels {labels}")
        return self


class Deployment(NamespacedObject):
    """Replicas with rolling updates."""

    spec: DeploymentSpec = Field(default_factory=DeploymentSpec)


class ReplicaSet(NamespacedObject):
    """Replicas of one revision of a Deployment, or of its own."""

    spec: ReplicaSetSpec = Field(default_factory=ReplicaSetSpec)


class StatefulSet(NamespacedObject):
    """Replicas with stable names and claims."""

    spec: StatefulSetSpec = Field(default_factory=StatefulSetSpec)


class DaemonSet(NamespacedObject):
    """A pod on every fitting node."""

    spec: DaemonSetSpec = Field(default_factory=DaemonSetSpec)


class ReplicationController(NamespacedObject):
    """Replicas, the old way."""

    spec: ReplicationControllerSpec = Field(default_factory=ReplicationControllerSpec)


class JobCondition(KubeModel):
    """One observation about a Job."""

    type: str
    status: str = "Unknown"


class JobStatus(KubeModel):
    """How far a Job is."""

    succeeded: int = 0
    completed_indexes: str = ""
    conditions: tuple[JobCondition, ...] = ()


class Job(NamespacedObject):
    """Pods that run to their end."""

    spec: JobSpec = Field(default_factory=JobSpec)
    status: JobStatus = Field(default_factory=JobStatus)

    @property
    def is_finished(self) -> bool:
        """Whether it has completed or failed, and makes no more pods."""
        return any(
            item.type in {"Complete", "Failed"} and item.status == "True" for item in self.status.conditions
        )


#: What makes pods from a template of its own.
Workload = Deployment | ReplicaSet | StatefulSet | DaemonSet | ReplicationController | Job


class CronJob(NamespacedObject):
    """Jobs at set times; none of them are foreseen."""


class ServiceSpec(KubeModel):
    """The pods behind a service."""

    selector: dict[str, str] = Field(default_factory=dict)


class Service(NamespacedObject):
    """A group of pods; the scheduler's default spreading looks at it."""

    spec: ServiceSpec = Field(default_factory=ServiceSpec)


class Namespace(ClusterObject):
    """A namespace; its labels are what namespace selectors see."""

    @model_validator(mode="after")
    def _label_with_name(self) -> Self:
        self.metadata.labels.setdefault(METADATA_NAME, self.name)
        return self


class PriorityClass(ClusterObject):
    """A named priority."""

    value: int = Field(ge=LEAST_INT32, le=MOST_INT32)
    global_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
