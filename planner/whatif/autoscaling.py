"""What HorizontalPodAutoscalers make of a number of replicas that the user asks for."""

from __future__ import annotations

from collections.abc import Iterator

from models import Cluster
from models.objects.autoscaler import HorizontalPodAutoscaler
from models.objects.workload import Workload


def targets_of(cluster: Cluster) -> Iterator[tuple[HorizontalPodAutoscaler, str, int]]:
    """The autoscalers whose workload is in the cluster, the workload as commands take it, and the maximum."""
    known = {
        (workload.namespace, workload.kind, workload.name)
        for workload in (*cluster.deployments, *cluster.replica_sets, *cluster.stateful_sets)
    } | {(item.namespace, item.kind, item.name) for item in cluster.replication_controllers}
    for scaler in cluster.horizontal_pod_autoscalers:
        target = scaler.spec.scale_target_ref
        most = scaler.spec.max_replicas
        if most is not None and (scaler.namespace, target.kind, target.name) in known:
            yield scaler, f"{target.kind}/{target.name}.{scaler.namespace}", most


def overruled(cluster: Cluster, workload: Workload, replicas: int) -> Iterator[str]:
    """A note about every autoscaler of a workload that would not leave it at so many replicas."""
    for scaler in cluster.horizontal_pod_autoscalers:
        target = scaler.spec.scale_target_ref
        if (scaler.namespace, target.kind, target.name) != (
            workload.namespace,
            workload.kind,
            workload.name,
        ):
            continue
        name = f"HorizontalPodAutoscaler {scaler.key}"
        what = f"{workload.kind} {workload.key}"
        least, most = scaler.spec.min_replicas, scaler.spec.max_replicas
        if replicas == 0 and least > 0:
            yield f"{name} is switched off while {what} has 0 replicas"
        elif replicas < least:
            yield f"{name} keeps at least {least}: it will scale {what} up again from {replicas} to {least}"
        elif most is not None and replicas > most:
            yield f"{name} keeps at most {most}: it will scale {what} down again from {replicas} to {most}"
