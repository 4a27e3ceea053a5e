"""Who controls whom: the pods and ReplicaSets of a snapshot, looked up by their controller."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Generic, TypeVar

from models.base import NamespacedObject
from models.pod import Pod

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
        return [item for item in candidates if _same_uid(item, owner)]


def is_live(pod: Pod) -> bool:
    """Whether a controller counts the pod as one of its replicas."""
    return not (pod.is_finished or pod.is_terminating)


def _same_uid(item: NamespacedObject, owner: NamespacedObject) -> bool:
    reference = item.metadata.controller
    named = reference.uid if reference else ""
    return not named or not owner.metadata.uid or named == owner.metadata.uid
