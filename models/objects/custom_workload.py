"""Workloads of Argo Rollouts and OpenKruise, as far as they look like those of Kubernetes.

A Rollout owns ReplicaSets as a Deployment does, a CloneSet owns pods as a ReplicaSet does.  OpenKruise's
StatefulSet has the kind of the built-in one, and is read as one that may leave ordinals out.
"""

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from models.objects.base import KubeModel, NamespacedObject, WorkloadMeta
from models.objects.storage import PersistentVolumeClaim
from models.objects.workload import (
    Deployment,
    DeploymentSpec,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
    WorkloadStatus,
)

ARGO = "argoproj.io"
KRUISE = "apps.kruise.io"


class WorkloadRef(KubeModel):
    """The workload whose template a Rollout takes for its own."""

    kind: str
    name: str


class RolloutSpec(DeploymentSpec):
    """A Deployment's, but for the strategy; the template may be that of another workload."""

    workload_ref: WorkloadRef | None = None


def _number(text: object) -> object:
    """The generation in a text; the first releases wrote a hash of the spec instead, which tells nothing."""
    if not isinstance(text, str):
        return text
    return int(text) if text.isascii() and text.isdigit() else None


class RolloutStatus(WorkloadStatus):
    """Which generation the controller has acted on, which it writes as a text."""

    observed_generation: Annotated[int | None, BeforeValidator(_number)] = None


class Rollout(Deployment):
    """Replicas that Argo Rollouts takes from one ReplicaSet to the next."""

    hash_label: ClassVar[str] = "rollouts-pod-template-hash"
    spec: RolloutSpec = Field(default_factory=RolloutSpec)
    status: RolloutStatus = Field(default_factory=RolloutStatus)


class CloneSetSpec(ReplicaSetSpec):
    """Replicas with claims of their own."""

    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()


class CloneSetStatus(ReplicaSetStatus):
    """Between which revisions a CloneSet is."""

    current_revision: str = ""
    update_revision: str = ""


class CloneSet(ReplicaSet):
    """Replicas without numbers that OpenKruise updates one after the other, in place where it can."""

    metadata: WorkloadMeta
    spec: CloneSetSpec = Field(default_factory=CloneSetSpec)
    status: CloneSetStatus = Field(default_factory=CloneSetStatus)

    @property
    def is_rolling(self) -> bool:
        """Whether some of its pods are still of an older template, as far as is told."""
        revisions = {self.status.current_revision, self.status.update_revision} - {""}
        return len(revisions) > 1


def is_custom(item: NamespacedObject) -> bool:
    """Whether a controller outside Kubernetes makes the pods of this workload."""
    return isinstance(item, Rollout | CloneSet) or is_of_others(item.api_version)


def is_of_others(api_version: str) -> bool:
    """Whether it is a version of Argo Rollouts or OpenKruise."""
    return api_version.partition("/")[0] in {ARGO, KRUISE}


def kubectl_name(item: NamespacedObject) -> str:
    """`KIND/NAME` for kubectl, with the group where the kind alone would be taken for the built-in one."""
    group = f".{KRUISE}" if is_of_others(item.api_version) and item.kind == "StatefulSet" else ""
    return f"{item.kind.lower()}{group}/{item.name}"
