"""The plugins that look at a pod's volumes."""

from planner.constraints.volumes.binding import VolumeBinding
from planner.constraints.volumes.limits import NodeVolumeLimits
from planner.constraints.volumes.restrictions import VolumeRestrictions
from planner.constraints.volumes.zone import VolumeZone

__all__ = ["NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"]
