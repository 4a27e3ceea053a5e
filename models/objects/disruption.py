"""PodDisruptionBudgets: how many pods of an application may be away at a time."""

from typing import Literal, Self

from pydantic import Field, model_validator

from models.objects.base import KubeModel, NamespacedObject
from models.objects.selectors import LabelSelector
from models.objects.share import Share


class PodDisruptionBudgetSpec(KubeModel):
    """What must stay, or may go; a number of pods or a percentage such as "50%"."""

    min_available: Share | None = None
    max_unavailable: Share | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: Literal["IfHealthyBudget", "AlwaysAllow"] = "IfHealthyBudget"

    @property
    def asks_nothing(self) -> bool:
        """Whether it says neither how many must stay nor how many may go: then it never lets a pod go."""
        return self.min_available is None and self.max_unavailable is None

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if self.min_available is not None and self.max_unavailable is not None:
            raise ValueError("minAvailable and maxUnavailable exclude each other")
        return self


class PodDisruptionBudgetStatus(KubeModel):
    """The disruption controller's last count; None where it never counted."""

    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = Field(default_factory=dict)


class PodDisruptionBudget(NamespacedObject):
    """A budget over the pods that its selector chooses."""

    spec: PodDisruptionBudgetSpec = Field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus | None = None

    def covers(self, pod: NamespacedObject) -> bool:
        """Whether a pod is one of those that it is about."""
        selector = self.spec.selector
        same = self.namespace == pod.namespace
        return same and selector is not None and selector.matches(pod.metadata.labels)
