"""What the API server judges new pods by: ResourceQuota, LimitRange, RuntimeClass and ServiceAccount."""

from typing import Literal, Self

from pydantic import Field, model_validator

from models.objects.affinity import Toleration
from models.objects.base import ClusterObject, KubeModel, NamespacedObject
from models.objects.quantity import ResourceList
from models.objects.strings import StringMap


class ScopeRequirement(KubeModel):
    """One condition on the pods that a quota counts; only PriorityClass has values."""

    scope_name: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class ScopeSelector(KubeModel):
    """Conditions that must all hold."""

    match_expressions: tuple[ScopeRequirement, ...] = ()


class ResourceQuotaSpec(KubeModel):
    """How much the pods of a namespace, those in scope, may ask for together."""

    hard: ResourceList = Field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    scope_selector: ScopeSelector | None = None

    @property
    def requirements(self) -> tuple[ScopeRequirement, ...]:
        """All conditions on the pods that count."""
        plain = tuple(ScopeRequirement(scope_name=name, operator="Exists") for name in self.scopes)
        return plain + (self.scope_selector.match_expressions if self.scope_selector else ())


class ResourceQuota(NamespacedObject):
    """Limits on what the pods of a namespace may ask for together."""

    spec: ResourceQuotaSpec = Field(default_factory=ResourceQuotaSpec)


class LimitRangeItem(KubeModel):
    """Bounds for every container or pod of a namespace, and defaults for containers."""

    type: str
    default: ResourceList = Field(default_factory=dict)
    default_request: ResourceList = Field(default_factory=dict)
    min: ResourceList = Field(default_factory=dict)
    max: ResourceList = Field(default_factory=dict)
    max_limit_request_ratio: ResourceList = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Defaults that follow from others, as the API server writes them into the object."""
        if self.type == "Container":
            for given, wanted in (
                (self.max, self.default),
                (self.default, self.default_request),
                (self.min, self.default_request),
            ):
                for name, amount in given.items():
                    wanted.setdefault(name, amount)
        return self


class LimitRangeSpec(KubeModel):
    """The bounds, kind by kind."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(NamespacedObject):
    """Bounds and defaults for the containers and pods of a namespace."""

    spec: LimitRangeSpec = Field(default_factory=LimitRangeSpec)


class RuntimeOverhead(KubeModel):
    """What a pod costs beside its containers."""

    pod_fixed: ResourceList = Field(default_factory=dict)


class RuntimeScheduling(KubeModel):
    """Where a runtime is installed."""

    node_selector: StringMap = Field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(ClusterObject):
    """A way to run containers; its pods get its overhead, its node selector and its tolerations."""

    overhead: RuntimeOverhead | None = None
    scheduling: RuntimeScheduling | None = None


class ServiceAccount(NamespacedObject):
    """An account that pods run as; without it they are not created."""
