"""What frees a node that cannot be drained: one more replica, a budget of one more, each tried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from models import Cluster
from planner.documents.drain import BlockedNode
from planner.documents.explanation import Fix
from planner.whatif.letting_go import another_budget, one_replica_more

#: Whether a node is emptied in a changed cluster.
IsFree = Callable[[Cluster, str], bool]


def freeing(cluster: Cluster, row: BlockedNode, is_free: IsFree) -> Iterator[Fix]:
    """The changes after which the node can be drained."""
    pod = next(item for item in cluster.pods if item.key == row.pod)
    for changed, change in (*one_replica_more(cluster, pod), *another_budget(cluster, pod)):
        if is_free(changed, row.node):
            yield Fix(changes=(change,), node=row.node)
