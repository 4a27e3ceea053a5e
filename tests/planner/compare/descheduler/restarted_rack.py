"""The cluster of Descheduler issue 1535: a rack of four was restarted, and has no pods when it is back."""

from models import Cluster
from tests.builders import HOST, Object, cluster, node, pod, spread

RACK = "example.com/rack"
#: 64 pods on 16 nodes, of which nodes 9 to 12 are the rack that was away.
PODS = (6, 6, 5, 4, 6, 5, 5, 5, 0, 0, 0, 0, 6, 6, 5, 5)


def restarted_rack() -> Cluster:
    """16 pods have to move, as every rack is to have 16 and every node 4."""
    return cluster(*_objects())


def _objects() -> list[Object]:
    rules = [spread(RACK, skew=1), spread(HOST, skew=1)]
    nodes = [node(f"n{n + 1:02}", labels={RACK: f"rack{n // 4 + 1}"}) for n in range(len(PODS))]
    pods = [
        pod(
            f"web-{n + 1:02}-{k}",
            on=f"n{n + 1:02}",
            app="web",
            owner="ReplicaSet/web",
            cpu="100m",
            spread=rules,
        )
        for n, many in enumerate(PODS)
        for k in range(many)
    ]
    return [*nodes, *pods]
