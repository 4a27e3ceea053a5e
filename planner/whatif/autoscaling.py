"""What HorizontalPodAutoscalers make of a number of replicas that the user asks for."""

from __future__ import annotations

from collections.abc import Iterator

from models import Cluster
from models.controllers.owners import ByController
from models.controllers.reconcile import workloads_of
from models.objects.autoscaler import HorizontalPodAutoscaler
from models.objects.workload import Workload
from planner.eviction.budgets import Scaled
from planner.whatif.unforeseen import why_unforeseen


def targets_of(cluster: Cluster) -> Iterator[tuple[HorizontalPodAutoscaler, Scaled, int]]:
    """The autoscalers whose workload is in the cluster, the workload, and the maximum.

    Not those of a workload whose replicas another one sets, or of which it is not known what it makes then.
    """
    sets = ByController(cluster.replica_sets)
    for scaler, workload, above in _scaled(cluster):
        most = scaler.spec.max_replicas
        if most is not None and above is None and not why_unforeseen(workload, sets):
            yield scaler, workload, most


def ineffective(cluster: Cluster) -> Iterator[str]:
    """A note about every autoscaler of a workload whose replicas another one sets, or that there is none."""
    found = [*_scaled(cluster)]
    if not found:
        yield "no HorizontalPodAutoscaler has its workload here: there is none to set to its maximum"
    for scaler, workload, above in found:
        if above is not None:
            of = f"replicas of {workload.kind} {workload.name}"
            yield f"HorizontalPodAutoscaler {scaler.key} is left out: {above.kind} {above.key} sets the {of}"


def _scaled(cluster: Cluster) -> Iterator[tuple[HorizontalPodAutoscaler, Scaled, Workload | None]]:
    """The autoscalers whose workload is in the cluster, the workload, and the one that it belongs to."""
    owners = workloads_of(cluster)
    several: list[Scaled] = [*cluster.deployments, *cluster.replica_sets, *cluster.stateful_sets]
    several += cluster.replication_controllers
    known = {(item.namespace, item.kind, item.name): item for item in several}
    for scaler in cluster.horizontal_pod_autoscalers:
        target = scaler.spec.scale_target_ref
        workload = known.get((scaler.namespace, target.kind, target.name))
        if workload is not None:
            yield scaler, workload, owners.controller_of(workload)


def overruled(cluster: Cluster, workload: Workload, replicas: int) -> Iterator[str]:
    """A note about every autoscaler of a workload that would not leave it at so many replicas."""
    what = f"{workload.kind} {workload.key}"
    scalers = [scaler for scaler, found, _ in _scaled(cluster) if f"{found.kind} {found.key}" == what]
    for scaler in scalers:
        name = f"HorizontalPodAutoscaler {scaler.key}"
        least, most = scaler.spec.min_replicas, scaler.spec.max_replicas
        if replicas == 0 and least > 0:
            yield f"{name} is switched off while {what} has 0 replicas"
        elif replicas < least:
            yield f"{name} keeps at least {least}: it will scale {what} up again from {replicas} to {least}"
        elif most is not None and replicas > most:
            yield f"{name} keeps at most {most}: it will scale {what} down again from {replicas} to {most}"
