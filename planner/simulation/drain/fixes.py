"""What frees a node that cannot be drained: one more replica, a budget of one more, each tried out.

One change is tried out once for all nodes that it may free.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator

from models import Cluster
from models.objects.pod import Pod
from planner.documents.drain import BlockedNode
from planner.documents.explanation import Fix, FixChange
from planner.proof.clock import is_stop_requested
from planner.whatif.letting_go import Changed, another_budget, one_replica_more

#: The nodes that are not emptied in a changed cluster.
StillBlocked = Callable[[Cluster], frozenset[str]]


class Fixes:
    """The changes to a cluster after which nodes can be drained."""

    def __init__(
        self,
        cluster: Cluster,
        still_blocked: StillBlocked,
        most: int,
        stop_event: threading.Event | None = None,
    ) -> None:
        """At most so many changes are tried out, and none once `stop_event` is set."""
        self._cluster, self._still_blocked = cluster, still_blocked
        self._most, self._stop_event = most, stop_event
        self._pods = {pod.key: pod for pod in cluster.pods}
        self._blocked: dict[Hashable, frozenset[str]] = {}
        self._untried: set[Hashable] = set()

    def freeing(self, row: BlockedNode) -> Iterator[Fix]:
        """The changes after which the node can be drained."""
        pod = self._pods[row.pod]
        for offered in (one_replica_more, another_budget):
            for changed, change in offered(self._cluster, pod):
                if self._is_free(changed, change, pod, row.node):
                    yield Fix(changes=(change,), node=row.node)

    def _is_free(self, changed: Changed, change: FixChange, pod: Pod, node: str) -> bool:
        # A replica counts for the budgets that cover the pod.
        covering = tuple(item.key for item in self._cluster.pod_disruption_budgets if item.covers(pod))
        key = change.namespace, change.target, change.summary, covering
        if key not in self._blocked:
            if len(self._blocked) >= self._most or is_stop_requested(self._stop_event):
                self._untried.add(key)
                return False
            self._blocked[key] = self._still_blocked(changed())
        return node not in self._blocked[key]

    def notes(self) -> Iterator[str]:
        """What is to be said where not all was tried out."""
        if is_stop_requested(self._stop_event):
            yield "stopped: not all was tried out that could free a node"
        elif self._untried:
            yield (
                f"of {len(self._blocked) + len(self._untried)} changes that could free a node "
                f"{len(self._blocked)} were tried out: each is as long a drain as this one"
            )
