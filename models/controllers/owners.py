"""Which controller owns what: the pods and ReplicaSets of a snapshot, looked up by their controller."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Generic, TypeVar

from models.objects.base import NamespacedObject
from models.objects.pod import Pod
from models.objects.workload import Workload

Owned = TypeVar("Owned", bound=NamespacedObject)


class ByController(Generic[Owned]):
    """Objects by the controller that their owner references name."""

    def __init__(self, objects: Iterable[Owned]) -> None:
        self._found: dict[tuple[str, str, str], list[Owned]] = defaultdict(list)
        for item in objects:
            owner = item.metadata.controller
            if owner is not None:
                self._found[item.namespace, owner.kind, owner.name].append(item)

    def of(self, owner: NamespacedObject) -> list[Owned]:
        """The objects that this one controls; uids must agree where both sides have one."""
        candidates = self._found.get((owner.namespace, owner.kind, owner.name), [])
        return [item for item in candidates if is_controlled_by(item, owner)]


class Workloads:
    """The workloads of a snapshot, to be asked which of them made something."""

    def __init__(self, workloads: Iterable[Workload]) -> None:
        self._known = {(item.kind, item.key): item for item in workloads}

    @property
    def known(self) -> Iterable[Workload]:
        """All of them."""
        return self._known.values()

    def controller_of(self, item: NamespacedObject) -> Workload | None:
        """The workload that recreates an object when it is gone, as far as the snapshot has it."""
        owner = item.metadata.controller
        found = self._known.get((owner.kind, f"{item.namespace}/{owner.name}")) if owner else None
        return found if found is not None and is_controlled_by(item, found) else None

    def has_other(self, item: NamespacedObject) -> bool:
        """Whether the controller's name belongs to another object now, one that was made later."""
        owner = item.metadata.controller
        found = self._known.get((owner.kind, f"{item.namespace}/{owner.name}")) if owner else None
        return found is not None and not is_controlled_by(item, found)

    def above(self, pod: Pod) -> Workload | None:
        """The workload that decides how many such pods there are: the Deployment over the ReplicaSet."""
        found = self.controller_of(pod)
        higher = self.controller_of(found) if found is not None and found.kind == "ReplicaSet" else None
        return higher or found


def is_live(pod: Pod) -> bool:
    """Whether a controller counts the pod as one of its replicas."""
    return not (pod.is_finished or pod.is_terminating)


def is_healthy(pod: Pod) -> bool:
    """Whether a pod runs and is to stay, and nothing says that it is not ready."""
    return bool(pod.node_name) and is_live(pod) and not (pod.is_starting or pod.is_unready)


def is_controlled_by(item: NamespacedObject, owner: NamespacedObject) -> bool:
    """Whether a controller of the right name is the one meant: uids must agree where both have one."""
    reference = item.metadata.controller
    named = reference.uid if reference else ""
    return not named or not owner.metadata.uid or named == owner.metadata.uid
