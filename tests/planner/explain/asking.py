"""Small clusters with one pending pod, and what is said about it."""

from collections.abc import Iterable
from typing import Any

from models import Cluster, InputError
from planner import explain
from planner.documents.explanation import Explanation
from planner.problem.problem import Problem
from tests.builders import Object, cluster, node, pod


def only(*objects: Object, **options: Any) -> Explanation:
    """The only explanation of a cluster."""
    (found,) = explain(cluster(*objects), **options).items
    return found


def read(objects: Iterable[Object]) -> Cluster | None:
    """The cluster that drawn manifests describe; None where no command takes it, as amounts are too large."""
    try:
        return Problem(Cluster.from_objects(objects)).cluster
    except InputError:
        return None


def summaries(found: Explanation) -> list[str]:
    """The fixes of one change, in words."""
    return [fix.changes[0].summary for fix in (*found.fixes, *found.risky) if len(fix.changes) == 1]


ZONES = (node("a", zone="a"), node("b", zone="b"), node("c", zone="c", taints=["down:NoSchedule"]))
RUNNING = (
    pod("a-1", on="a", app="web", owner="ReplicaSet/web"),
    pod("b-1", on="b", app="web", owner="ReplicaSet/web"),
)
