"""Pod volumes as far as they decide on placement; every other source counts as `other`."""

from pydantic import Field

from models.objects.base import KubeModel, ObjectMeta
from models.objects.storage import PersistentVolumeClaimSpec


class PersistentVolumeClaimSource(KubeModel):
    """A claim in the pod's namespace."""

    claim_name: str
    read_only: bool = False


class ClaimTemplate(KubeModel):
    """What a claim that is made for a pod will look like."""

    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec


class EphemeralVolumeSource(KubeModel):
    """A claim that lives and dies with the pod, named `<pod>-<volume>`."""

    volume_claim_template: ClaimTemplate | None = None


class ImageVolumeSource(KubeModel):
    """An image whose files are mounted."""

    reference: str = ""


class GCEPersistentDisk(KubeModel):
    """A disk of Google Cloud."""

    pd_name: str
    read_only: bool = False


class AWSElasticBlockStore(KubeModel):
    """A disk of AWS."""

    volume_id: str = Field(alias="volumeID")
    read_only: bool = False


class RBDVolume(KubeModel):
    """A Ceph block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class ISCSIVolume(KubeModel):
    """An iSCSI disk."""

    target_portal: str = ""
    iqn: str = ""
    lun: int = 0
    read_only: bool = False


class CSIVolume(KubeModel):
    """A volume that a CSI driver makes inline for the pod."""

    driver: str
    read_only: bool = False


class HostPathVolume(KubeModel):
    """A folder of the node."""

    path: str = ""


class EmptyDirVolume(KubeModel):
    """Scratch space on the node."""

    medium: str = ""


class Volume(KubeModel):
    """A volume of a pod; at most one of its sources is set."""

    name: str
    persistent_volume_claim: PersistentVolumeClaimSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    rbd: RBDVolume | None = None
    iscsi: ISCSIVolume | None = None
    csi: CSIVolume | None = None
    empty_dir: EmptyDirVolume | None = None
    host_path: HostPathVolume | None = None
    # Stand-in hashes are made of the repr, and stay what they were before this field was read.
    image: ImageVolumeSource | None = Field(default=None, repr=False)
