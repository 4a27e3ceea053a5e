"""Pods that run and are of an older revision than the template of their StatefulSet or DaemonSet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from models.controllers.stateful import REVISION_LABEL
from models.objects.pod import Pod
from models.objects.workload import DaemonSet, StatefulSet


def outdated(owner: StatefulSet | DaemonSet, pods: Sequence[Pod]) -> frozenset[str]:
    """The keys of live pods that are of another revision than the template, as far as the snapshot tells."""
    if isinstance(owner, DaemonSet) and owner.status.updated_number_scheduled == 0:
        return frozenset(pod.key for pod in pods)
    newest = owner.status.update_revision if isinstance(owner, StatefulSet) else _newest_of(owner, pods)
    return frozenset(pod.key for pod in pods if newest and _revision(pod) not in {None, newest})


def _newest_of(owner: DaemonSet, pods: Sequence[Pod]) -> str | None:
    """The revision of as many pods as the status says are updated; of several that of the youngest pod."""
    if not owner.is_rolling:
        return None
    counts = Counter(map(_revision, pods))
    likely = [pod for pod in pods if counts[_revision(pod)] == owner.status.updated_number_scheduled]
    youngest = max(likely or pods, key=lambda pod: pod.metadata.created, default=None)
    return None if youngest is None else _revision(youngest)


def _revision(pod: Pod) -> str | None:
    return pod.metadata.labels.get(REVISION_LABEL)
