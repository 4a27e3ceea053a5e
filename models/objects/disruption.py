"""PodDisruptionBudgets: how many pods of an application may be away at a time."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, PlainValidator, model_validator

from models.objects.base import KubeModel, NamespacedObject
from models.objects.selectors import LabelSelector

_PERCENT = re.compile(r"[0-9]{1,9}%", re.ASCII)


def _int_or_percent(value: object) -> object:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if value is None or is_number or (isinstance(value, str) and _PERCENT.fullmatch(value)):
        return value
    raise ValueError(f"expected a number or a percentage such as '50%', found {value!r}")


IntOrPercent = Annotated[int | str | None, PlainValidator(_int_or_percent)]


class PodDisruptionBudgetSpec(KubeModel):
    """What must stay, or may go; a number of pods or a percentage such as "50%"."""

    min_available: IntOrPercent = None
    max_unavailable: IntOrPercent = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: Literal["IfHealthyBudget", "AlwaysAllow"] = "IfHealthyBudget"

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
