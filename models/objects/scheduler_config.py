"""The KubeSchedulerConfiguration: profiles, plugins and their arguments."""

import json
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from models.objects.affinity import NodeAffinity, TopologySpreadConstraint
from models.objects.base import KubeModel, KubeObject, only


def _zero_is_one(weight: Any) -> Any:
    return weight or 1


class ResourceWeight(KubeModel):
    """How much a resource counts in a score."""

    name: str
    weight: Annotated[int, Field(ge=1, le=100), BeforeValidator(_zero_is_one)] = 1


class UtilizationShapePoint(KubeModel):
    """A corner of the curve from utilisation in percent to a score from 0 to 10."""

    utilization: int = Field(default=0, ge=0, le=100)
    score: int = Field(default=0, ge=0, le=10)


class RequestedToCapacityRatio(KubeModel):
    """The curve of the strategy of that name."""

    shape: tuple[UtilizationShapePoint, ...] = ()


def _is_extended(resource: str) -> bool:
    """Whether a resource is none of Kubernetes' own: its name has a domain, and not kubernetes.io."""
    return "/" in resource and "kubernetes.io/" not in resource and not resource.startswith("requests.")


CPU_AND_MEMORY = (ResourceWeight(name="cpu"), ResourceWeight(name="memory"))


class ScoringStrategy(KubeModel):
    """Whether full or empty nodes are liked, and by which resources."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: tuple[ResourceWeight, ...] = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None


class NodeResourcesFitArgs(KubeModel):
    """Arguments of NodeResourcesFit."""

    scoring_strategy: ScoringStrategy = Field(default_factory=ScoringStrategy)
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()

    def ignores(self, resource: str) -> bool:
        """Whether room for a resource is not looked at: kube ignores extended resources alone."""
        group = resource.partition("/")[0]
        named = resource in self.ignored_resources or group in self.ignored_resource_groups
        return named and _is_extended(resource)


class NodeResourcesBalancedAllocationArgs(KubeModel):
    """Arguments of NodeResourcesBalancedAllocation."""

    resources: tuple[ResourceWeight, ...] = CPU_AND_MEMORY


class PodTopologySpreadArgs(KubeModel):
    """Arguments of PodTopologySpread: constraints for the pods that have none."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Literal["System", "List"] = "System"

    @model_validator(mode="after")
    def _check_defaults(self) -> Self:
        if self.defaulting_type == "System" and self.default_constraints:
            raise ValueError("defaultConstraints need defaultingType List, found System")
        return self


class NodeAffinityArgs(KubeModel):
    """Arguments of NodeAffinity: an affinity that every pod of the profile has besides its own."""

    added_affinity: NodeAffinity | None = None


class InterPodAffinityArgs(KubeModel):
    """Arguments of InterPodAffinity."""

    hard_pod_affinity_weight: int = Field(default=1, ge=0, le=100)
    ignore_preferred_terms_of_existing_pods: bool = False


class DefaultPreemptionArgs(KubeModel):
    """Arguments of DefaultPreemption."""

    min_candidate_nodes_percentage: int = Field(default=10, ge=0, le=100)
    min_candidate_nodes_absolute: int = Field(default=100, ge=0)


class Plugin(KubeModel):
    """A plugin that is switched on or off; weight 0 means the default."""

    name: str
    weight: int = Field(default=0, ge=0)


class PluginSet(KubeModel):
    """What a profile changes at one extension point; disabled `*` means all."""

    enabled: tuple[Plugin, ...] = ()
    disabled: tuple[Plugin, ...] = ()


class Plugins(KubeModel):
    """What a profile changes, by extension point."""

    pre_enqueue: PluginSet = Field(default_factory=PluginSet)
    queue_sort: PluginSet = Field(default_factory=PluginSet)
    pre_filter: PluginSet = Field(default_factory=PluginSet)
    filter: PluginSet = Field(default_factory=PluginSet)
    post_filter: PluginSet = Field(default_factory=PluginSet)
    pre_score: PluginSet = Field(default_factory=PluginSet)
    score: PluginSet = Field(default_factory=PluginSet)
    reserve: PluginSet = Field(default_factory=PluginSet)
    permit: PluginSet = Field(default_factory=PluginSet)
    pre_bind: PluginSet = Field(default_factory=PluginSet)
    bind: PluginSet = Field(default_factory=PluginSet)
    post_bind: PluginSet = Field(default_factory=PluginSet)
    multi_point: PluginSet = Field(default_factory=PluginSet)


PLUGIN_ARGS: dict[str, type[KubeModel]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
}
Args = TypeVar("Args", bound=KubeModel)


class PluginConfig(KubeModel):
    """A plugin's arguments: typed for the plugins that the planner models, else left out."""

    name: str
    args: KubeModel | dict[str, Any] = Field(default_factory=dict, validate_default=True)

    @field_validator("args", mode="plain")
    @classmethod
    def _type_args(cls, args: Any, info: ValidationInfo) -> Any:
        known = PLUGIN_ARGS.get(info.data.get("name", ""))
        if known is None:
            return {}
        if isinstance(args, KubeModel):
            return args
        return known.model_validate_json(json.dumps(args or {}), strict=True)


class KubeSchedulerProfile(KubeModel):
    """A scheduler that pods name with schedulerName."""

    scheduler_name: str = "default-scheduler"
    percentage_of_nodes_to_score: int | None = Field(default=None, ge=0, le=100)
    plugins: Plugins = Field(default_factory=Plugins)
    plugin_config: tuple[PluginConfig, ...] = ()

    def args(self, kind: type[Args]) -> Args:
        """The arguments of this class, with the defaults where the profile has none."""
        for item in self.plugin_config:
            if isinstance(item.args, kind):
                return item.args
        found: Args = _defaults(kind)
        return found


@cache
def _defaults(kind: type[Args]) -> Args:
    return kind()


class Extender(KubeModel):
    """A web hook of the scheduler: all that matters is that there is one."""


class KubeSchedulerConfiguration(KubeObject):
    """How kube-scheduler was started; 1.29 was the first release that took no other version."""

    api_version: Annotated[str, only("kubescheduler.config.k8s.io/v1")] = ""
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    percentage_of_nodes_to_score: int | None = Field(default=None, ge=0, le=100)
    extenders: tuple[Extender, ...] = ()

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [profile.scheduler_name for profile in self.profiles]
        if len(set(names)) < len(names):
            raise ValueError(f"profiles need different schedulerNames, found {names}")
        return self
