"""Pending pods that a change of their template does not reach: their controller keeps them as they are.

A StatefulSet with OrderedReady waits for a pod that it has made, also when its template changed.  With
`OnDelete`, and by a ReplicaSet or ReplicationController on its own, a pod is made anew only after it was
deleted; below the partition of a StatefulSet not even then from the new template.  That of a Job cannot be
changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from models import Cluster
from models.admission.chain import is_new
from models.controllers.owners import Workloads
from models.controllers.reconcile import workloads_of
from models.controllers.stateful import is_kept, ordinal_of
from models.objects.custom_workload import is_custom
from models.objects.pod import Pod
from models.objects.workload import DaemonSet, Job, ReplicaSet, ReplicationController, StatefulSet
from planner.documents.explanation import Explanation

_ON_DELETE = "its updateStrategy is OnDelete"
_ORDERED = "it is OrderedReady and waits for the pod as it is"
_KEPT = "its controller changes no pod that is there"


def unreached(cluster: Cluster, items: Iterable[Explanation]) -> Iterator[str]:
    """A note for each pod of which a fix changes the template, where that alone does not help it."""
    pods, workloads = {pod.key: pod for pod in cluster.pods}, workloads_of(cluster)
    for item in items:
        pod = pods.get(item.pod)
        if pod is None or not _is_changed(item):
            continue
        owner = workloads.controller_of(pod)
        if isinstance(owner, Job) and (owner.metadata.creation_timestamp or not is_new(pod)):
            yield (
                f"the API server refuses to change the template of Job/{owner.name}: "
                f"a change of it helps only where the Job is deleted and made again"
            )
        if is_new(pod) or isinstance(owner, Job):
            continue
        partition = _partition_over(workloads, pod)
        if partition:
            yield f"no change of {item.workload} reaches {item.pod}: its partition is {partition}"
        elif why := _why_kept(workloads, pod):
            yield (
                f"a change of {item.workload} reaches {item.pod} only when the pod is deleted after it "
                f"(kubectl delete pod {pod.name} -n {pod.namespace}): {why}"
            )


def _is_changed(item: Explanation) -> bool:
    """Whether a fix changes the pod's template."""
    changes = (change for fix in (*item.fixes, *item.risky) for change in fix.changes)
    return any(change.target == item.workload and change.patch is not None for change in changes)


def _partition_over(workloads: Workloads, pod: Pod) -> int:
    """The partition that keeps the pod's ordinal at the revision before; 0 where none does."""
    owner, ordinal = workloads.controller_of(pod), ordinal_of(pod)
    if not isinstance(owner, StatefulSet) or ordinal is None:
        return 0
    return owner.spec.update_strategy.rolling_update.partition if is_kept(owner, ordinal) else 0


def _why_kept(workloads: Workloads, pod: Pod) -> str:
    """Why the controller does not replace the pod when its template changes; empty where it does."""
    owner = workloads.controller_of(pod)
    if isinstance(owner, StatefulSet | DaemonSet) and owner.spec.update_strategy.type == "OnDelete":
        return _ON_DELETE
    if isinstance(owner, StatefulSet):
        return _ORDERED if owner.spec.pod_management_policy == "OrderedReady" else ""
    rolls = not isinstance(owner, ReplicaSet | ReplicationController) or is_custom(owner)
    alone = not rolls and workloads.above(pod) is owner
    return _KEPT if alone else ""
