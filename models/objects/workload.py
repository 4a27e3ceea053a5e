"""Controllers and what goes with them: workloads, services, namespaces, priority classes."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from models.objects.base import (
    LEAST_INT32,
    MOST_INT32,
    ClusterObject,
    KubeModel,
    NamespacedObject,
    WorkloadMeta,
    empty_is,
)
from models.objects.ordinals import OrdinalRange, ordinals
from models.objects.pod import PodTemplateSpec
from models.objects.selectors import LabelSelector
from models.objects.share import Share, pods_of_share
from models.objects.storage import PersistentVolumeClaim
from models.objects.strings import StringMap

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

    type: Annotated[Literal["RollingUpdate", "Recreate", "OnDelete"], empty_is("RollingUpdate")] = (
        "RollingUpdate"
    )
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
    """Numbered replicas, each with claims of its own; OpenKruise leaves out the numbers that are reserved."""

    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    ordinals: StatefulSetOrdinals = Field(default_factory=StatefulSetOrdinals)
    reserve_ordinals: tuple[OrdinalRange, ...] = ()
    service_name: str = ""
    pod_management_policy: Literal["OrderedReady", "Parallel"] = "OrderedReady"
    update_strategy: UpdateStrategy = Field(default_factory=UpdateStrategy)

    @property
    def wanted_ordinals(self) -> Sequence[int]:
        """The numbers that its replicas are to have, in their order."""
        return ordinals(self.ordinals.start, self.replicas, self.reserve_ordinals)


class OnExitCodes(KubeModel):
    """Exit codes of containers that a rule asks for."""

    operator: Literal["In", "NotIn"]
    values: tuple[int, ...] = ()


class OnPodCondition(KubeModel):
    """A condition of a failed pod that a rule asks for."""

    type: str
    status: str = "True"


class PodFailureRule(KubeModel):
    """What a failed pod counts for that exit codes or conditions match."""

    action: Literal["FailJob", "FailIndex", "Ignore", "Count"]
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: tuple[OnPodCondition, ...] = ()


class PodFailurePolicy(KubeModel):
    """What failed pods count for: the first rule that matches decides."""

    rules: tuple[PodFailureRule, ...] = ()


#: What `spec.managedBy` of a Job names where it is not another controller.
JOB_CONTROLLER = "kubernetes.io/job-controller"


class JobSpec(KubeModel):
    """Pods that run to their end; without completions, any success ends the job."""

    parallelism: _Count = 1
    completions: _Count | None = None
    completion_mode: Literal["NonIndexed", "Indexed"] = "NonIndexed"
    suspend: bool = False
    backoff_limit: _Count | None = None
    backoff_limit_per_index: _Count | None = None
    max_failed_indexes: _Count | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: Literal["TerminatingOrFailed", "Failed"] | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None
    managed_by: str = ""

    @property
    def wanted_completions(self) -> int | None:
        """How many successes end the Job: one where the manifest names no numbers at all."""
        if self.completions is None and "parallelism" not in self.model_fields_set:
            return 1
        return self.completions


class ReplicationControllerSpec(KubeModel):
    """The predecessor of ReplicaSet; its selector is a plain map."""

    replicas: _Count = 1
    min_ready_seconds: _Count = 0
    selector: StringMap = Field(default_factory=dict)
    template: PodTemplateSpec | None = None

    @model_validator(mode="after")
    def _check_selector(self) -> Self:
        if self.template is None:
            return self
        labels = self.template.metadata.labels
        if not self.selector.items() <= labels.items():
            raise ValueError(f"the selector does not match the template's labels {labels}")
        return self


class WorkloadStatus(KubeModel):
    """Which generation of its spec a controller has acted on; None where it is not told."""

    observed_generation: int | None = None


class StatefulSetStatus(WorkloadStatus):
    """Between which revisions a StatefulSet is."""

    current_revision: str = ""
    update_revision: str = ""


class DaemonSetStatus(WorkloadStatus):
    """How far a DaemonSet's newest template has come."""

    desired_number_scheduled: int = 0
    updated_number_scheduled: int | None = None


class Deployment(NamespacedObject):
    """Replicas with rolling updates."""

    #: The label that tells the pods of one revision from those of others.
    hash_label: ClassVar[str] = "pod-template-hash"
    metadata: WorkloadMeta
    spec: DeploymentSpec = Field(default_factory=DeploymentSpec)
    status: WorkloadStatus = Field(default_factory=WorkloadStatus)


class ReplicaSetCondition(KubeModel):
    """One observation about it: `ReplicaFailure` has what the API server said last."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""


class ReplicaSetStatus(WorkloadStatus):
    """What keeps a ReplicaSet or ReplicationController from making pods."""

    conditions: tuple[ReplicaSetCondition, ...] = ()


class ReplicaSet(NamespacedObject):
    """Replicas of one revision of a Deployment, or of its own."""

    spec: ReplicaSetSpec = Field(default_factory=ReplicaSetSpec)
    status: ReplicaSetStatus = Field(default_factory=ReplicaSetStatus)


class StatefulSet(NamespacedObject):
    """Replicas with stable names and claims."""

    metadata: WorkloadMeta
    spec: StatefulSetSpec = Field(default_factory=StatefulSetSpec)
    status: StatefulSetStatus = Field(default_factory=StatefulSetStatus)


class DaemonSet(NamespacedObject):
    """A pod on every fitting node."""

    metadata: WorkloadMeta
    spec: DaemonSetSpec = Field(default_factory=DaemonSetSpec)
    status: DaemonSetStatus = Field(default_factory=DaemonSetStatus)

    def surge_of(self, nodes: int) -> int:
        """On how many of so many nodes a second pod may run while its pods are replaced."""
        strategy = self.spec.update_strategy
        share = None if strategy.type == "OnDelete" else strategy.rolling_update.max_surge
        return 0 if share is None else pods_of_share(share, nodes, round_up=True)

    @property
    def is_rolling(self) -> bool:
        """Whether some of its pods are still of an older template, as far as is told."""
        updated = self.status.updated_number_scheduled
        return updated is not None and updated < self.status.desired_number_scheduled


class ReplicationController(NamespacedObject):
    """Replicas, the old way."""

    spec: ReplicationControllerSpec = Field(default_factory=ReplicationControllerSpec)
    status: ReplicaSetStatus = Field(default_factory=ReplicaSetStatus)


class JobCondition(KubeModel):
    """One observation about a Job."""

    type: str
    status: str = "Unknown"


class UncountedPods(KubeModel):
    """Pods that have ended and that are not in a Job's figures yet, by uid."""

    failed: tuple[str, ...] = ()


class JobStatus(KubeModel):
    """How far a Job is."""

    succeeded: int = 0
    failed: int = 0
    uncounted_terminated_pods: UncountedPods = Field(default_factory=UncountedPods)
    completed_indexes: str = ""
    failed_indexes: str = ""
    conditions: tuple[JobCondition, ...] = ()


class Job(NamespacedObject):
    """Pods that run to their end."""

    spec: JobSpec = Field(default_factory=JobSpec)
    status: JobStatus = Field(default_factory=JobStatus)

    @property
    def is_managed_elsewhere(self) -> bool:
        """Whether another controller than Kubernetes' own acts on it, which may make no pods here."""
        return self.spec.managed_by not in {"", JOB_CONTROLLER}

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

    selector: StringMap = Field(default_factory=dict)


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

    value: int = Field(default=0, ge=LEAST_INT32, le=MOST_INT32)
    global_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
