"""Nodes: labels, taints, room and images."""

from typing import Self

from pydantic import Field, model_validator

from models.objects.affinity import Taint
from models.objects.base import ClusterObject, KubeModel, Time
from models.objects.quantity import ResourceList

#: The labels of nodes of the control plane, and the keys of their taints.
CONTROL_PLANE = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
#: How the key of a taint of a node of virtual-kubelet begins.
VIRTUAL = "virtual-kubelet.io/"


class NodeSpec(KubeModel):
    """What keeps pods off a node."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    provider_id: str = Field(default="", alias="providerID")


class ContainerImage(KubeModel):
    """An image that a node has already pulled, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeCondition(KubeModel):
    """One observation about a node."""

    type: str
    status: str = "Unknown"
    last_heartbeat_time: Time | None = None


class NodeSystemInfo(KubeModel):
    """What a node says about itself."""

    kubelet_version: str = ""


class NodeStatus(KubeModel):
    """A node's room; what is allocatable defaults to the capacity."""

    allocatable: ResourceList = Field(default_factory=dict)
    capacity: ResourceList = Field(default_factory=dict)
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeSystemInfo = Field(default_factory=NodeSystemInfo)
    declared_features: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _default_allocatable(self) -> Self:
        if not self.allocatable:
            self.allocatable.update(self.capacity)
        return self


class Node(ClusterObject):
    """A machine that pods run on."""

    spec: NodeSpec = Field(default_factory=NodeSpec)
    status: NodeStatus = Field(default_factory=NodeStatus)

    @property
    def is_virtual(self) -> bool:
        """Whether virtual-kubelet stands in for a machine: its pods run elsewhere and are paid one by one."""
        by_taint = any(taint.key.startswith(VIRTUAL) for taint in self.spec.taints)
        return by_taint or self.metadata.labels.get("type") == "virtual-kubelet"
