"""Pods: what they ask for, and how far they are."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, model_validator
from pydantic_core import CoreSchema, core_schema

from models.objects.affinity import Affinity, NodeAffinity, Taint, Toleration, TopologySpreadConstraint
from models.objects.annotations import DELETION_COST, MIRROR
from models.objects.base import (
    LEAST_INT32,
    MOST_INT32,
    NULL_LABEL,
    VALUE_LABEL,
    KubeModel,
    NamespacedObject,
    ObjectMeta,
    Time,
    empty_is,
)
from models.objects.containers import Container, ResourceRequirements, ResourcesInUse
from models.objects.quantity import ResourceList
from models.objects.security import SaidPodSecurityContext
from models.objects.selectors import NodeSelector
from models.objects.strings import StringMap
from models.objects.volumes import Volume

# As kube-controller-manager reads it: no plus sign, no leading zeros, 32 bits.
_COST = re.compile(r"-[0-9]{1,20}|0|[1-9][0-9]{0,20}", re.ASCII)
_INT32 = 2**31
#: The kubelet has tried to start a container, and failed.
_NOT_STARTED = frozenset(
    {
        "CrashLoopBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImageInspectError",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)


class PodSchedulingGate(KubeModel):
    """A reason for the scheduler not to look at the pod yet."""

    name: str


class PodResourceClaim(KubeModel):
    """Devices that the pod asks for: a claim by its name, or one made for it from a template."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(KubeModel):
    """The group that the pod is scheduled with, where an alpha feature is switched on."""

    name: str = ""
    pod_group_name: str = ""


class PodSpec(KubeModel):
    """Everything that decides where a pod may run."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceList = Field(default_factory=dict)
    resources: ResourceRequirements | None = None
    node_name: str | None = None
    node_selector: StringMap = Field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduler_name: Annotated[str, empty_is("default-scheduler")] = "default-scheduler"
    priority: int | None = Field(default=None, ge=LEAST_INT32, le=MOST_INT32)
    priority_class_name: str = ""
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    host_network: bool = False
    # Stand-in hashes are made of the repr, and stay what they were before this field was read.
    host_users: bool | None = Field(default=None, repr=False)
    host_pid: bool = Field(default=False, alias="hostPID", repr=False)
    host_ipc: bool = Field(default=False, alias="hostIPC", repr=False)
    security_context: SaidPodSecurityContext = Field(default=None, repr=False)
    runtime_class_name: str | None = Field(default=None, repr=False)
    service_account_name: str = Field(default="", repr=False)
    service_account: str = Field(default="", repr=False)
    active_deadline_seconds: int | None = Field(default=None, repr=False)
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    # As host_users; 1.35 calls it workloadRef, 1.36 schedulingGroup.
    scheduling_group: PodSchedulingGroup | None = Field(default=None, repr=False)
    workload_ref: PodSchedulingGroup | None = Field(default=None, repr=False)
    termination_grace_period_seconds: int = 30

    @model_validator(mode="after")
    def _check_spread(self) -> Self:
        pairs = [(item.topology_key, item.when_unsatisfiable) for item in self.topology_spread_constraints]
        if len(set(pairs)) < len(pairs):
            key, when = next(pair for pair in pairs if pairs.count(pair) > 1)
            raise ValueError(f"topologySpreadConstraints has {key} with {when} more than once")
        return self

    @property
    def account(self) -> str:
        """The ServiceAccount's name, which has an old field, too."""
        return self.service_account_name or self.service_account

    def tolerates(self, taint: Taint) -> bool:
        """Whether one of its tolerations puts up with a taint."""
        return any(item.tolerates(taint) for item in self.tolerations)

    @property
    def node_affinity(self) -> NodeAffinity | None:
        """Which nodes it needs, and which it likes, where it says so."""
        return None if self.affinity is None else self.affinity.node_affinity

    @property
    def required_nodes(self) -> NodeSelector | None:
        """What its node affinity requires of nodes, if anything."""
        return None if self.node_affinity is None else self.node_affinity.required

    def host_ports(self) -> Iterator[tuple[str, str, int]]:
        """(host IP, protocol, port) of every port on the host, as the API server defaults them."""
        sidecars = (container for container in self.init_containers if container.is_sidecar)
        for container in (*self.containers, *sidecars):
            for port in container.ports:
                host_port = port.host_port or (port.container_port if self.host_network else 0)
                if host_port:
                    yield port.host_ip or "0.0.0.0", port.protocol, host_port

    @property
    def all_containers(self) -> tuple[Container, ...]:
        """The containers, and the init containers after them."""
        return self.containers + self.init_containers

    def with_containers(self, edit: Callable[[Container], Container]) -> Self:
        """The spec with every container, and every init container, edited."""
        fields = ("containers", "init_containers")
        return self.model_copy(update={field: tuple(map(edit, getattr(self, field))) for field in fields})


class _ParsedBefore:
    """Lets a pod's spec come as the validation context, with a zero in its place in the text."""

    def __get_pydantic_core_schema__(
        self, source: type[PodSpec], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def take(value: object, info: core_schema.ValidationInfo) -> PodSpec:
            if value == 0 and isinstance(info.context, PodSpec):
                return info.context
            raise ValueError("no spec was parsed before")

        before = core_schema.with_info_plain_validator_function(take)
        return core_schema.union_schema(
            [(handler(source), VALUE_LABEL), (before, NULL_LABEL)], mode="left_to_right"
        )


class PodCondition(KubeModel):
    """One observation about a pod."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class ContainerStateWaiting(KubeModel):
    """Why a container does not run yet."""

    reason: str = ""


class ContainerState(KubeModel):
    """What a container does now, as far as it waits."""

    waiting: ContainerStateWaiting | None = None


class ContainerStatus(KubeModel):
    """How one container fares, and what it has while its spec asks for something else."""

    name: str = ""
    restart_count: int = 0
    state: ContainerState | None = None
    resources: ResourcesInUse | None = None
    allocated_resources: ResourceList = Field(default_factory=dict)


#: The conditions that say something; the others only accompany these.
READ_CONDITIONS = frozenset({"DisruptionTarget", "PodResizePending", "PodScheduled", "Ready"})


def _read_ones(conditions: tuple[PodCondition, ...]) -> tuple[PodCondition, ...]:
    return tuple([item for item in conditions if item.type in READ_CONDITIONS])


class PodResourceClaimStatus(KubeModel):
    """The claim that was made for an entry of `resourceClaims`; none when none was needed."""

    name: str
    resource_claim_name: str | None = None


class PodStatus(KubeModel):
    """How far a pod is."""

    phase: Literal["Pending", "Running", "Succeeded", "Failed", "Unknown"] = "Pending"
    start_time: Time | None = None
    nominated_node_name: str | None = None
    conditions: Annotated[tuple[PodCondition, ...], AfterValidator(_read_ones)] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    resources: ResourcesInUse | None = None
    allocated_resources: ResourceList = Field(default_factory=dict)


class PodMeta(ObjectMeta):
    """The metadata of a pod: since 1.33 its generation is 1, and goes up with every change of its spec.

    Binding is none; a gate that is removed, another image and a resize in place are.
    """

    generation: int = 0


class Pod(NamespacedObject):
    """One pod, running, pending, or made by the planner from a workload's template."""

    metadata: PodMeta
    spec: Annotated[PodSpec, _ParsedBefore()]
    status: PodStatus = Field(default_factory=PodStatus)

    @property
    def node_name(self) -> str | None:
        """The node that it is bound to."""
        return self.spec.node_name or None

    def on(self, node: str, *, running: bool = False) -> Self:
        """It on another node, with its phase unless it is `running` there."""
        update: dict[str, object] = {"spec": self.spec.model_copy(update={"node_name": node})}
        if running:
            update["status"] = self.status.model_copy(update={"phase": "Running"})
        return self.model_copy(update=update)

    @property
    def priority(self) -> int:
        """Its priority, 0 where none is set."""
        return self.spec.priority or 0

    @property
    def is_terminating(self) -> bool:
        """Whether it was told to stop."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_finished(self) -> bool:
        """Whether it ran to its end, well or badly, and holds nothing any more."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_waiting(self) -> bool:
        """Whether it has no node yet and still wants one."""
        return not self.node_name and not self.is_finished

    @property
    def refusal(self) -> str:
        """Why the API server would not create it; empty where it would."""
        failed = (item for item in self.status.conditions if item.type == "ReplicaFailure")
        return next((item.message for item in failed), "")

    @property
    def is_ready(self) -> bool:
        """Whether it said that it can serve."""
        return any(item.type == "Ready" and item.status == "True" for item in self.status.conditions)

    @property
    def is_unready(self) -> bool:
        """Whether a condition says that it is not ready."""
        return any(item.type == "Ready" and item.status != "True" for item in self.status.conditions)

    @property
    def is_starting(self) -> bool:
        """Whether it is bound and its node has not started it yet, as images are pulled or volumes wait.

        Pods written by hand have no status: they count as running.  Snapshots once left the phase out where
        it is Pending, but not that the pod was scheduled.
        """
        told = "phase" in self.status.model_fields_set
        told = told or any(item.type == "PodScheduled" for item in self.status.conditions)
        return bool(self.node_name) and told and self.status.phase == "Pending"

    @property
    def start_failure(self) -> str:
        """Why the kubelet could not start one of its containers, in one word; empty where nothing says so."""
        states = [
            item.state for item in (*self.status.init_container_statuses, *self.status.container_statuses)
        ]
        waiting = [
            state.waiting.reason for state in states if state is not None and state.waiting is not None
        ]
        return next((reason for reason in waiting if reason in _NOT_STARTED), "")

    @property
    def ready_since(self) -> datetime | None:
        """Since when it is ready, where that is known."""
        ready = (item for item in self.status.conditions if item.type == "Ready" and item.status == "True")
        return next((item.last_transition_time for item in ready), None)

    @property
    def restarts(self) -> tuple[int, int]:
        """The most restarts of any of its containers, and of any of its sidecars."""
        sidecars = {item.name for item in self.spec.init_containers if item.is_sidecar}
        status = self.status
        return (
            max((item.restart_count for item in status.container_statuses), default=0),
            max((i.restart_count for i in status.init_container_statuses if i.name in sidecars), default=0),
        )

    @property
    def deletion_cost(self) -> int:
        """What its annotation says that it costs to delete it; 0 where that is no number."""
        text = self.metadata.annotations.get(DELETION_COST)
        cost = int(text) if text is not None and _COST.fullmatch(text) else 0
        return cost if -_INT32 <= cost < _INT32 else 0

    @property
    def is_resize_infeasible(self) -> bool:
        """Whether its node has refused the resources that its spec asks for now."""
        pending = (item for item in self.status.conditions if item.type == "PodResizePending")
        return any(item.reason == "Infeasible" for item in pending)

    def may_be_resized(self, template: PodSpec) -> bool:
        """Whether its spec was changed since it was made from a template, as a resize in place does.

        Gates that were removed are no resize; other changes cannot be told from one.
        """
        changes = self.metadata.generation - 1
        return changes > 0 and changes > len(template.scheduling_gates) - len(self.spec.scheduling_gates)

    @property
    def has_scratch_data(self) -> bool:
        """Whether it has an emptyDir volume, whose content is deleted with it."""
        return any(volume.empty_dir is not None for volume in self.spec.volumes)

    @property
    def is_mirror(self) -> bool:
        """Whether it stands for a static pod, which a node runs from a file of its own."""
        return MIRROR in self.metadata.annotations


class PodTemplateSpec(KubeModel):
    """What a controller makes pods from."""

    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: PodSpec | None = None
