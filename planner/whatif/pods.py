"""Pods that are deleted, or whose scheduling gates are open: those are pending like all others."""

from __future__ import annotations

from dataclasses import replace

from models import Cluster
from planner.whatif.eviction import bare_pods, noted, without_pods
from planner.whatif.named import pod_named


def delete_pod(cluster: Cluster, pod: str) -> Cluster:
    """The cluster without a pod, `namespace/name` or just the name; its controller makes another."""
    gone = pod_named(cluster, pod)
    if gone.is_mirror:
        return noted(cluster, [f"delete pod {gone.key}: a static pod, which its node starts again"])
    left = without_pods(cluster, [gone], returning=[] if gone.is_finished else [gone])
    return noted(left, bare_pods(f"delete pod {gone.key}", [gone]))


def open_gates(cluster: Cluster) -> Cluster:
    """The cluster without scheduling gates on any pod."""
    pods = (
        pod.changed("spec", scheduling_gates=()) if pod.spec.scheduling_gates else pod for pod in cluster.pods
    )
    return replace(cluster, pods=tuple(pods))
