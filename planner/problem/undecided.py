"""Notes about pending pods of which the snapshot does not tell on which nodes they may be.

They stay pending, or come to other nodes, and whatever else is said is so as long as they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from models import Cluster
from models.objects.pod import Pod
from models.words import listed
from planner.problem.nodes import NodeAxis
from planner.problem.requests import pod_requests
from planner.problem.volume_claims import Claims, claims_of

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
