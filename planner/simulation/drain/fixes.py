"""What frees a node that cannot be drained: one more replica, a budget of one more, each tried out.

One change is tried out once for all nodes that it may free.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from models import Cluster
from models.objects.pod import Pod
from planner.documents.drain import BlockedNode, StayingPod
from planner.documents.explanation import Fix, FixChange
from planner.proof.clock import is_stop_requested
from planner.whatif.letting_go import Changed, OtherBudgets, one_replica_more

_Row = TypeVar("_Row", BlockedNode, StayingPod)
#: The nodes that are not emptied in a changed cluster, and the pods that stay on them.
StillThere = Callable[[Cluster], frozenset[str]]


class _Possible(NamedTuple):
    """A change that is tried out once for all pods with the same key."""

    key: Hashable
    changed: Changed
    change: FixChange


class Fixes:
    """The changes to a cluster after which nodes can be drained."""

    def __init__(
        self,
        cluster: Cluster,
        still_there: StillThere,
        most: int,
        stop_event: threading.Event | None = None,
    ) -> None:
        """At most so many changes are tried out, and none once `stop_event` is set."""
        self._cluster, self._still_there = cluster, still_there
        self._most, self._stop_event = most, stop_event
        self._budgets = OtherBudgets(cluster)
        self._pods = {pod.key: pod for pod in cluster.pods}
        self._possible: dict[Hashable, Sequence[_Possible]] = {}
        self._tried: dict[Hashable, frozenset[str]] = {}
        self._untried: set[Hashable] = set()

    def told(self, rows: Iterable[BlockedNode]) -> Iterator[BlockedNode]:
        """The same nodes with what frees them, and with what lets each of their pods go."""
        # Where not all can be tried out, it is for a pod of every node.
        rows = [self._with_fixes(row, row.node) for row in rows]
        for row in rows:
            yield row.model_copy(update={"pods": tuple(self._with_fixes(pod, pod.pod) for pod in row.pods)})

    def _with_fixes(self, row: _Row, name: str) -> _Row:
        """A row of the document with the changes about its pod after which that node, or pod, is away."""
        if row.reason != "Budget":
            return row
        pod = self._pods[row.pod]
        answers = [(one.change, self._is_free(one, name)) for one in self._about(pod)]
        fixes = (Fix(changes=(change,), node=pod.node_name or "") for change, free in answers if free)
        exhausted = all(free is not None for _, free in answers)
        return row.model_copy(update={"fixes": tuple(fixes), "exhausted": exhausted})

    def _about(self, pod: Pod) -> Sequence[_Possible]:
        """The changes that may let a pod go, the same for pods of one controller and with the same labels."""
        alike = pod.namespace, pod.metadata.controller, frozenset(pod.metadata.labels.items())
        if alike not in self._possible:
            # A replica counts for the budgets that cover the pod.
            covering = tuple(item.key for item in self._cluster.pod_disruption_budgets if item.covers(pod))
            self._possible[alike] = [
                _Possible((change.namespace, change.target, change.summary, covering), changed, change)
                for changed, change in (*one_replica_more(self._cluster, pod), *self._budgets.of(pod))
            ]
        return self._possible[alike]

    def _is_free(self, one: _Possible, name: str) -> bool | None:
        """Whether that node, or pod, is away after a change; None where that was not tried out."""
        if one.key not in self._tried:
            if len(self._tried) >= self._most or is_stop_requested(self._stop_event):
                self._untried.add(one.key)
                return None
            self._tried[one.key] = self._still_there(one.changed())
        return name not in self._tried[one.key]

    def notes(self) -> Iterator[str]:
        """What is to be said where not all was tried out."""
        if is_stop_requested(self._stop_event):
            yield "stopped: not all was tried out that could free a node"
        elif self._untried:
            yield (
                f"of {len(self._tried) + len(self._untried)} changes that could free a node "
                f"{len(self._tried)} were tried out: each is as long a drain as this one"
            )
