"""Notes about what was read: nothing of a kind that every answer needs, or what is not modelled.

Pending pods of which the snapshot does not tell on which nodes they may be stay pending, or come to other
nodes, and whatever else is said is so as long as they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from models import Cluster
from models.objects.pod import Pod
from models.words import listed
from planner.problem.nodes import NodeAxis
from planner.problem.requests import pod_requests
from planner.problem.volume_claims import Claims, claims_of, class_notes


def pending_notes(
    cluster: Cluster, nodes: NodeAxis, pending: Sequence[Pod], from_devices: Iterable[str]
) -> Iterator[str]:
    """What is not modelled or not known of pending pods; some resources may come from devices."""
    yield from group_notes(pending)
    yield from class_notes(cluster, pending)
    yield from undecided_notes(cluster, nodes, pending, from_devices)


def nothing_read(cluster: Cluster) -> Iterator[str]:
    """That an answer is about no nodes, or no pods: it looks as if all were well."""
    if not cluster.nodes:
        yield (
            "there are no nodes: no pod can run, and no constraint be judged "
            "(with -f only these files are read, not the live cluster)"
        )
    elif not cluster.pods:
        yield "no pods were read: whatever runs on these nodes is not in the answer"


def group_notes(pending: Iterable[Pod]) -> Iterator[str]:
    """One note about all pods that ask to be scheduled as a group, which is alpha."""
    grouped = [pod.key for pod in pending if pod.spec.scheduling_group or pod.spec.workload_ref]
    if grouped:
        pods = "1 pending pod asks" if len(grouped) == 1 else f"{len(grouped)} pending pods ask"
        yield (
            f"{pods} to be scheduled as part of a group ({grouped[0]}): gang scheduling and placement of "
            "groups by topology are alpha and not modelled, every pod is decided by itself"
        )


_KINDS = ("persistentvolumeclaims", "persistentvolumes", "storageclasses")


def undecided_notes(
    cluster: Cluster, nodes: NodeAxis, pending: Sequence[Pod], from_devices: Iterable[str]
) -> Iterator[str]:
    """At most one about volumes that may not be listed, and one about each resource that devices may give.

    They count no pods: of a rollout the pending ones are those that may be made.
    """
    unseen = [kind for kind in _KINDS if cluster.is_unseen(kind)]
    mounting = [pod for pod in pending if any(claims_of(pod))] if unseen else []
    claims = Claims(cluster, nodes, ()) if mounting else None
    if unknown := [pod.key for pod in mounting if claims is not None and claims.is_unknown(pod)]:
        what = " and ".join(unseen)
        yield f"for pending pods the nodes are undecided, as {what} may not be listed: {listed(unknown)}"
    for resource in from_devices:
        asking = [pod.key for pod in pending if pod_requests(pod).get(resource)]
        if asking:
            without = f"nodes without {resource} leave it to a DeviceClass"
            yield f"{without}: whether they accept pending pods is undecided: {listed(asking)}"
