"""Devices by claim (resource.k8s.io): what is asked for, and where an allocated claim can be used."""

from pydantic import Field

from models.objects.base import ClusterObject, KubeModel, NamespacedObject
from models.objects.selectors import NodeSelector


class ExactDeviceRequest(KubeModel):
    """A request for devices of one class."""

    device_class_name: str = ""


class DeviceSubRequest(ExactDeviceRequest):
    """One of several requests, the first that can be met counts."""

    name: str = ""


class DeviceRequest(ExactDeviceRequest):
    """A request as v1 spells it, in `exactly` or `firstAvailable`; v1beta1 had the class here."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceClaim(KubeModel):
    """All that a claim asks for."""

    requests: tuple[DeviceRequest, ...] = ()


class ResourceClaimSpec(KubeModel):
    """What a claim asks for."""

    devices: DeviceClaim = Field(default_factory=DeviceClaim)


class AllocationResult(KubeModel):
    """Where the allocated devices can be used; without a selector, everywhere."""

    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(KubeModel):
    """A consumer for which a claim is reserved."""

    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(KubeModel):
    """What a claim got, and which pods may use it."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()


class ResourceClaim(NamespacedObject):
    """A claim on devices, by itself or made for one pod."""

    spec: ResourceClaimSpec = Field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = Field(default_factory=ResourceClaimStatus)


class ResourceClaimTemplate(NamespacedObject):
    """What the claims of pods are made from; all that matters here is that it exists."""


class DeviceClassSpec(KubeModel):
    """A class may stand behind an extended resource."""

    extended_resource_name: str = ""


class DeviceClass(ClusterObject):
    """A kind of device."""

    spec: DeviceClassSpec = Field(default_factory=DeviceClassSpec)
