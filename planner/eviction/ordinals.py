"""StatefulSets: which of their pods are recreated unchanged and at once.

The StatefulSet controller, as of 1.36: with `OrderedReady` no pod is made while one of a lower ordinal is
missing, terminating or not ready.  A pod is recreated from the update revision, unless `partition` keeps its
ordinal at the current one.  An ordinal that is not wanted (`wanted_ordinals`) is not recreated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import cached_property

from models import Cluster
from models.controllers.owners import is_controlled_by, is_healthy
from models.controllers.stateful import REVISION_LABEL, is_kept, ordinal_of, set_key, wanted_ordinals
from models.objects.pod import Pod
from models.objects.workload import StatefulSet

OTHER_REVISION = "of a StatefulSet that would make it again from another revision"
WAITS = "of a StatefulSet that makes it again only when lower ordinals are ready"
NOT_WANTED = "of a StatefulSet that has no such ordinal any more"
#: Said of a pod that is yet to be made, like a line of the scheduler.
WAITS_FOR_LOWER = "not created: its StatefulSet makes it when pods of lower ordinals are ready"

_Key = tuple[str, str]


class Ordinals:
    """The StatefulSets of a snapshot, with their pods by ordinal."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sets = {(item.namespace, item.name): item for item in cluster.stateful_sets}
        self._lowest: dict[_Key, int | None] = {}
        self._wanted_of: dict[_Key, Collection[int]] = {}

    def why_not(self, pod: Pod) -> str:
        """Why a pod of a StatefulSet is not recreated unchanged and at once; empty if it is."""
        key, ordinal = set_key(pod), ordinal_of(pod)
        if key is None or ordinal is None:
            return ""
        found = self._set_of(pod)
        if not self.is_wanted(pod):
            return NOT_WANTED
        if found is not None and _is_of_other_revision(found, pod, ordinal):
            return OTHER_REVISION
        lowest = self._lowest_unready(key) if self.is_ordered(pod) else None
        return WAITS if lowest is not None and lowest < ordinal else ""

    def is_wanted(self, pod: Pod) -> bool:
        """Whether a pod comes for one that goes: True for pods that are of no StatefulSet."""
        ordinal, found = ordinal_of(pod), self._set_of(pod)
        if ordinal is None or found is None or not _sets_replicas(found):
            return True
        return ordinal in self._wanted(found)

    def is_ordered(self, pod: Pod) -> bool:
        """Whether the set has OrderedReady, the default: a pod is made only when lower ordinals are ready."""
        if set_key(pod) is None:
            return False
        found = self._set_of(pod)
        return found is None or found.spec.pod_management_policy == "OrderedReady"

    def _set_of(self, pod: Pod) -> StatefulSet | None:
        key = set_key(pod)
        found = None if key is None else self._sets.get(key)
        return found if found is not None and is_controlled_by(pod, found) else None

    def _lowest_unready(self, key: _Key) -> int | None:
        """The lowest wanted ordinal without a ready pod; where the set is unknown, among existing pods."""
        if key not in self._lowest:
            there, owner = self._pods[key], self._sets.get(key)
            is_set = owner is not None and _sets_replicas(owner)
            wanted = sorted(self._wanted(owner) if owner and is_set else there)
            missing = (n for n in wanted if n not in there or not is_healthy(there[n]))
            self._lowest[key] = next(missing, None)
        return self._lowest[key]

    def _wanted(self, owner: StatefulSet) -> Collection[int]:
        key = (owner.namespace, owner.name)
        if key not in self._wanted_of:
            self._wanted_of[key] = wanted_ordinals(owner, self._pods[key].values())
        return self._wanted_of[key]

    @cached_property
    def _pods(self) -> dict[_Key, dict[int, Pod]]:
        found: dict[_Key, dict[int, Pod]] = defaultdict(dict)
        for pod in self._cluster.pods:
            key, ordinal = set_key(pod), ordinal_of(pod)
            if key is not None and ordinal is not None:
                found[key][ordinal] = pod
        return found


def _sets_replicas(owner: StatefulSet) -> bool:
    """Whether the manifest sets `replicas`, as the API server always does."""
    return "replicas" in owner.spec.model_fields_set


def _is_of_other_revision(owner: StatefulSet, pod: Pod, ordinal: int) -> bool:
    """Whether the next pod of this ordinal is made from another revision than this pod."""
    status, running = owner.status, pod.metadata.labels.get(REVISION_LABEL)
    following = status.current_revision if is_kept(owner, ordinal) else status.update_revision
    return bool(following and running) and following != running
