"""Rollouts (Argo Rollouts) between two ReplicaSets: what they make when they are scaled is not foreseen."""

from __future__ import annotations

from collections.abc import Iterator

from models import Cluster
from models.controllers.owners import ByController
from models.controllers.replicas import is_between_sets
from models.objects.workload import Deployment, ReplicaSet, Workload


def why_unforeseen(workload: Workload, sets: ByController[ReplicaSet]) -> str:
    """Why it is not known which pods a workload has when it is scaled; empty where it is."""
    if not isinstance(workload, Deployment) or not is_between_sets(workload, sets.of(workload)):
        return ""
    return (
        f"{workload.kind} {workload.key} is between two ReplicaSets: how many pods each gets is up to "
        "Argo Rollouts, and is not foreseen"
    )


def left_out(cluster: Cluster) -> Iterator[str]:
    """A note for each workload that is not counted for that reason."""
    sets = ByController(cluster.replica_sets)
    for workload in cluster.deployments:
        if why := why_unforeseen(workload, sets):
            yield f"{why}: it is left out"
