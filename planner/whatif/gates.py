"""What if scheduling gates were open? Pods that they hold back are pending like all others."""

from __future__ import annotations

from dataclasses import replace

from models import Cluster


def open_gates(cluster: Cluster) -> Cluster:
    """The cluster without scheduling gates on any pod."""
    pods = (
        pod.changed("spec", scheduling_gates=()) if pod.spec.scheduling_gates else pod for pod in cluster.pods
    )
    return replace(cluster, pods=tuple(pods))
