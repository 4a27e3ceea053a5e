"""HorizontalPodAutoscalers: within which numbers of replicas a workload is kept."""

from pydantic import Field

from models.objects.base import KubeModel, NamespacedObject


class ScaleTarget(KubeModel):
    """The workload that is scaled."""

    api_version: str = ""
    kind: str = ""
    name: str = ""


class HorizontalPodAutoscalerSpec(KubeModel):
    """The workload that it scales, and the least and the most replicas."""

    scale_target_ref: ScaleTarget = Field(default_factory=ScaleTarget)
    min_replicas: int = 1
    max_replicas: int | None = None


class HorizontalPodAutoscaler(NamespacedObject):
    """A controller that sets a workload's replicas by its load."""

    spec: HorizontalPodAutoscalerSpec = Field(default_factory=HorizontalPodAutoscalerSpec)
