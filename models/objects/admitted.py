"""What the API server said to a pod of a workload's template: an object of the planner's own."""

from models.objects.base import NamespacedObject
from models.objects.pod import Pod


class AdmittedTemplate(NamespacedObject):
    """A pod that was sent without being created, and what came back: the pod as admitted, or a refusal."""

    workload_kind: str
    workload_name: str
    sent: Pod
    admitted: Pod | None = None
    refusal: str = ""
