"""The scheduling constraints of a pod: affinities, tolerations and topology spread."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from models.objects.base import MOST_INT32, KubeModel
from models.objects.selectors import LabelSelector, NodeSelector, NodeSelectorTerm

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
InclusionPolicy = Literal["Honor", "Ignore"]


class PreferredSchedulingTerm(KubeModel):
    """Nodes that are liked by this much."""

    weight: int = Field(ge=1, le=100)
    preference: NodeSelectorTerm


class NodeAffinity(KubeModel):
    """Which nodes a pod needs, and which it likes."""

    required: NodeSelector | None = Field(default=None, alias=REQUIRED)
    preferred: tuple[PreferredSchedulingTerm, ...] = Field(default=(), alias=PREFERRED)


class PodAffinityTerm(KubeModel):
    """Some pods, and the domains in which being together with them counts."""

    topology_key: str = Field(min_length=1)
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(KubeModel):
    """Pods that a pod prefers to be near, or away from, with this weight."""

    weight: int = Field(ge=1, le=100)
    pod_affinity_term: PodAffinityTerm


class PodAffinity(KubeModel):
    """The pods that a pod must, or prefers to, be near; also used for anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = Field(default=(), alias=REQUIRED)
    preferred: tuple[WeightedPodAffinityTerm, ...] = Field(default=(), alias=PREFERRED)


class Affinity(KubeModel):
    """All affinities of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None

    def pod_terms(self) -> Iterator[PodAffinityTerm]:
        """The terms about pods, near and apart, required and preferred."""
        for side in (self.pod_affinity, self.pod_anti_affinity):
            if side is not None:
                yield from side.required
                yield from (item.pod_affinity_term for item in side.preferred)


class Taint(KubeModel):
    """What keeps pods off a node unless they tolerate it."""

    key: str
    value: str = ""
    effect: TaintEffect


#: What a node that is cordoned has.
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class Toleration(KubeModel):
    """The taints that a pod puts up with; an empty key with Exists means every taint."""

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    toleration_seconds: int | None = None

    @field_validator("operator", mode="before")
    @classmethod
    def _default_operator(cls, operator: object) -> object:
        return operator or "Equal"

    @model_validator(mode="after")
    def _check_pair(self) -> Self:
        if not self.key and self.operator != "Exists":
            raise ValueError("a toleration without key needs operator Exists")
        if self.operator == "Exists" and self.value:
            raise ValueError(f"operator Exists takes no value, found {self.value!r}")
        return self

    def tolerates(self, taint: Taint) -> bool:
        """Whether this taint is put up with."""
        return (
            (not self.effect or self.effect == taint.effect)
            and (not self.key or self.key == taint.key)
            and (self.operator == "Exists" or self.value == taint.value)
        )


class TopologySpreadConstraint(KubeModel):
    """How evenly the selected pods must, or should, spread over the domains of a key."""

    max_skew: int = Field(ge=1, le=MOST_INT32)
    topology_key: str = Field(min_length=1)
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    min_domains: int | None = Field(default=None, ge=1, le=MOST_INT32)
    node_affinity_policy: InclusionPolicy = "Honor"
    node_taints_policy: InclusionPolicy = "Ignore"

    @model_validator(mode="after")
    def _check_min_domains(self) -> Self:
        if self.min_domains is not None and self.when_unsatisfiable != "DoNotSchedule":
            raise ValueError(
                f"minDomains needs whenUnsatisfiable DoNotSchedule, found {self.when_unsatisfiable}"
            )
        return self
