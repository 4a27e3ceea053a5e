"""Files of which later ones change the template of a workload that runs: what runs, and what is applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from models import Cluster
from models.controllers.apply import FIELD_OF_KIND, with_workload
from models.objects.custom_workload import is_custom
from models.objects.workload import DaemonSet, Deployment, StatefulSet
from models.snapshot import Snapshot
from planner.simulation.rollout.slots import same_template


def taken_apart(cluster: Cluster) -> tuple[Cluster, Snapshot] | None:
    """The cluster before templates changed, and the workloads that change them; None without any."""
    before, after = cluster, Snapshot()
    for item in cluster.replaced:
        if isinstance(item, Deployment | StatefulSet | DaemonSet) and not is_custom(item):
            field = FIELD_OF_KIND[item.kind]
            new = next(o for o in getattr(cluster, field) if (o.kind, o.key) == (item.kind, item.key))
            if item.metadata.uid and not same_template(item.spec.template, new.spec.template):
                before = with_workload(before, item)
                more: Any = (*getattr(after, field), new)
                after = replace(after, **{field: more})
    if after == Snapshot():
        return None
    return _without_pods_to_come(before, after), after


def _without_pods_to_come(before: Cluster, after: Snapshot) -> Cluster:
    """Pods that were made for the changed workloads are the rollout's to make."""
    rolled = (*after.deployments, *after.stateful_sets, *after.daemon_sets)
    changed = {(item.kind, item.key) for item in rolled}
    sets = {item.key: item.metadata.controller for item in before.replica_sets}

    def is_made(pod: Any) -> bool:
        owner = pod.metadata.controller
        if owner is None or pod.metadata.creation_timestamp is not None or pod.node_name:
            return False
        above = sets.get(f"{pod.namespace}/{owner.name}") if owner.kind == "ReplicaSet" else None
        owner = above or owner
        return (owner.kind, f"{pod.namespace}/{owner.name}") in changed

    return replace(before, pods=tuple(pod for pod in before.pods if not is_made(pod)))
