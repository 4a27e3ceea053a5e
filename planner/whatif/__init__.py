"""What if: pure functions from a Cluster to another one, as if something had been done to it.

Controllers have acted in what comes back: evicted replicas are pending again, new nodes have their
DaemonSet pods, a scaled workload has its pods. The scheduler has not: nothing new is placed. Whatever
is unusual about a change is a note of the new cluster.
"""

from planner.whatif.nodes import add_nodes, cordon, drain, remove_nodes
from planner.whatif.pods import delete_pod, open_gates
from planner.whatif.scaling import scale

__all__ = ["add_nodes", "cordon", "delete_pod", "drain", "open_gates", "remove_nodes", "scale"]
