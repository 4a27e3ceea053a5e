"""Volumes, claims, storage classes and what CSI drivers can attach to a node."""

from typing import Literal

from pydantic import Field

from models.objects.base import ClusterObject, KubeModel, NamespacedObject
from models.objects.quantity import ResourceList
from models.objects.selectors import LabelSelector, NodeSelector

AccessMode = Literal["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]
VolumeMode = Literal["Filesystem", "Block"]


class ClaimReference(KubeModel):
    """The claim that a volume is bound to, or reserved for."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CSIPersistentVolume(KubeModel):
    """A volume behind a CSI driver."""

    driver: str
    volume_handle: str = ""


class GCEPersistentDiskVolume(KubeModel):
    """A disk of Google Cloud behind a PersistentVolume."""

    pd_name: str


class AWSElasticBlockStoreVolume(KubeModel):
    """A disk of AWS behind a PersistentVolume."""

    volume_id: str = Field(alias="volumeID")


class LocalVolume(KubeModel):
    """A disk or folder of one node."""

    path: str = ""


class VolumeNodeAffinity(KubeModel):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(KubeModel):
    """What a volume offers, and where."""

    capacity: ResourceList = Field(default_factory=dict)
    access_modes: tuple[AccessMode, ...] = ()
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    volume_mode: VolumeMode = "Filesystem"
    volume_attributes_class_name: str | None = Field(default=None, repr=False)
    csi: CSIPersistentVolume | None = None
    gce_persistent_disk: GCEPersistentDiskVolume | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolume | None = None
    local: LocalVolume | None = None


class VolumeStatus(KubeModel):
    """How far a volume or a claim is bound."""

    phase: str = "Pending"


class PersistentVolume(ClusterObject):
    """A piece of storage."""

    spec: PersistentVolumeSpec = Field(default_factory=PersistentVolumeSpec)
    status: VolumeStatus = Field(default_factory=VolumeStatus)


class ClaimResources(KubeModel):
    """How much storage a claim asks for."""

    requests: ResourceList = Field(default_factory=dict)


class PersistentVolumeClaimSpec(KubeModel):
    """What a claim asks for; no class (None) means the default class, "" means none at all."""

    access_modes: tuple[AccessMode, ...] = ()
    resources: ClaimResources = Field(default_factory=ClaimResources)
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: VolumeMode = "Filesystem"
    volume_attributes_class_name: str | None = Field(default=None, repr=False)


class PersistentVolumeClaim(NamespacedObject):
    """A pod's hold on a piece of storage."""

    spec: PersistentVolumeClaimSpec = Field(default_factory=PersistentVolumeClaimSpec)
    status: VolumeStatus = Field(default_factory=VolumeStatus)


class TopologySelectorLabelRequirement(KubeModel):
    """The values that a node's label may have."""

    key: str
    values: tuple[str, ...]


class TopologySelectorTerm(KubeModel):
    """Conditions on node labels that hold together."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(ClusterObject):
    """A kind of storage, and whether it waits for the pod's node before it is made."""

    provisioner: str = ""
    volume_binding_mode: Literal["Immediate", "WaitForFirstConsumer"] = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class DriverAllocatable(KubeModel):
    """How many volumes of a driver a node can hold; None is no limit."""

    count: int | None = None


class CSINodeDriver(KubeModel):
    """A CSI driver on a node."""

    name: str
    node_id: str = Field(default="", alias="nodeID")
    allocatable: DriverAllocatable | None = None
    topology_keys: tuple[str, ...] = ()


class CSINodeSpec(KubeModel):
    """The CSI drivers on a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(ClusterObject):
    """What CSI can do on the node of the same name."""

    spec: CSINodeSpec = Field(default_factory=CSINodeSpec)


class VolumeAttachmentSource(KubeModel):
    """The volume that is attached."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(KubeModel):
    """Which volume is attached to which node, by which driver."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = Field(default_factory=VolumeAttachmentSource)


class VolumeAttachment(ClusterObject):
    """A volume on its node."""

    spec: VolumeAttachmentSpec = Field(default_factory=VolumeAttachmentSpec)
