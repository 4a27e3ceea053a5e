"""The DeschedulerPolicy (descheduler/v1alpha2) as far as it says what may be moved, and how much."""

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationInfo, field_validator

from models.objects.base import KubeModel, KubeObject, only
from models.objects.selectors import LabelSelector

Protection = Literal[
    "PodsWithLocalStorage",
    "DaemonSetPods",
    "SystemCriticalPods",
    "FailedBarePods",
    "PodsWithPVC",
    "PodsWithoutPDB",
    "PodsWithResourceClaims",
]
When = Literal["DoNotSchedule", "ScheduleAnyway"]


class PriorityThreshold(KubeModel):
    """Pods of this priority and above stay; a number, or the name of a PriorityClass."""

    value: int | None = None
    name: str = ""


class ProtectedClaims(KubeModel):
    """Which claims protect a pod: only that the policy says so matters."""

    protected_storage_classes: tuple[dict[str, Any], ...] = ()


class ProtectionsConfig(KubeModel):
    """What some protections are about."""

    pods_with_pvc: ProtectedClaims = Field(default_factory=ProtectedClaims, alias="PodsWithPVC")


class PodProtections(KubeModel):
    """Which protections differ from the usual ones."""

    default_disabled: tuple[Protection, ...] = ()
    extra_enabled: tuple[Protection, ...] = ()
    config: ProtectionsConfig = Field(default_factory=ProtectionsConfig)


class DefaultEvictorArgs(KubeModel):
    """Arguments of DefaultEvictor: which pods may be evicted at all."""

    evict_local_storage_pods: bool = False
    evict_daemon_set_pods: bool = False
    evict_system_critical_pods: bool = False
    ignore_pvc_pods: bool = Field(default=False, alias="ignorePvcPods")
    ignore_pods_without_pdb: bool = Field(default=False, alias="ignorePodsWithoutPDB")
    label_selector: LabelSelector | None = None
    namespace_label_selector: LabelSelector | None = None
    priority_threshold: PriorityThreshold | None = None
    min_replicas: int = 0
    min_pod_age: str | None = None
    node_selector: str = ""
    node_fit: bool = False
    pod_protections: PodProtections = Field(default_factory=PodProtections)


class NamespaceChoice(KubeModel):
    """Only these namespaces, or all but these."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class TopologySpreadArgs(KubeModel):
    """Arguments of RemovePodsViolatingTopologySpreadConstraint: what is to be repaired."""

    namespaces: NamespaceChoice = Field(default_factory=NamespaceChoice)
    label_selector: LabelSelector | None = None
    constraints: tuple[When, ...] = ("DoNotSchedule",)
    topology_balance_node_fit: bool = True


POLICY_ARGS: dict[str, type[KubeModel]] = {
    "DefaultEvictor": DefaultEvictorArgs,
    "RemovePodsViolatingTopologySpreadConstraint": TopologySpreadArgs,
}
Args = TypeVar("Args", bound=KubeModel)


class PolicyPluginConfig(KubeModel):
    """A plugin's arguments: typed for the plugins that matter here, else left out."""

    name: str
    args: KubeModel | dict[str, Any] = Field(default_factory=dict, validate_default=True)

    @field_validator("args", mode="plain")
    @classmethod
    def _type_args(cls, args: Any, info: ValidationInfo) -> Any:
        known = POLICY_ARGS.get(info.data.get("name", ""))
        if known is None:
            return {}
        if isinstance(args, KubeModel):
            return args
        return known.model_validate_json(json.dumps(args or {}), strict=True)


class DeschedulerProfile(KubeModel):
    """A set of plugins that run together."""

    name: str = ""
    plugin_config: tuple[PolicyPluginConfig, ...] = ()


class DeschedulerPolicy(KubeObject):
    """What Descheduler was told; v1alpha1 had strategies instead of profiles."""

    api_version: Annotated[str, only("descheduler/v1alpha2")] = ""
    profiles: tuple[DeschedulerProfile, ...] = ()
    max_no_of_pods_to_evict_per_node: int | None = Field(default=None, ge=0)
    max_no_of_pods_to_evict_per_namespace: int | None = Field(default=None, ge=0)
    max_no_of_pods_to_evict_total: int | None = Field(default=None, ge=0)
    node_selector: str = ""

    def args(self, kind: type[Args]) -> Args:
        """The first arguments of this class in any profile, with the defaults where there are none."""
        found = (item.args for profile in self.profiles for item in profile.plugin_config)
        return next((args for args in found if isinstance(args, kind)), kind())

    @property
    def other_plugins(self) -> tuple[str, ...]:
        """The configured plugins that the planner ignores."""
        names = (item.name for profile in self.profiles for item in profile.plugin_config)
        return tuple(dict.fromkeys(name for name in names if name not in POLICY_ARGS))
