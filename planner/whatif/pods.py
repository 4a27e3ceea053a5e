"""Pods that are deleted, or whose scheduling gates are open: those are pending like all others.

And all pods come anew: those that a controller makes again are pending, as on the first day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from models import Cluster
from models.objects.pod import Pod, PodStatus
from models.words import counted
from planner.eviction.controllers import Controllers
from planner.eviction.movable import is_tied
from planner.problem.problem import Problem
from planner.problem.volume_claims import Claims
from planner.scheduler.profile import profiles_of
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


def afresh(problem: Problem) -> Cluster:
    """The cluster with every pod pending that its controller would make again like it, and a note on others.

    No pod is evicted for this, so neither budgets nor protections are asked.  Pods keep the time at which
    they were made, and so their turn in the queue.
    """
    controllers = Controllers(problem, jobs=True)
    claims = Claims(problem.cluster, problem.nodes, problem.pods)
    profiles = profiles_of(problem.cluster.scheduler_config)
    stays: dict[str, str] = {}
    for number in np.flatnonzero(problem.node_of >= 0).tolist():
        pod = problem.pods[number]
        stays[pod.key] = _why_not(pod, profiles, claims) or controllers.why_not(number)
    coming = {key for key, reason in stays.items() if not reason}
    pods = tuple(_waiting(pod) if pod.key in coming else pod for pod in problem.cluster.pods)
    return noted(replace(problem.cluster, pods=pods), _notes(Counter(filter(None, stays.values()))))


def _why_not(pod: Pod, profiles: Collection[str], claims: Claims) -> str:
    """Why a running pod keeps its node even so."""
    if pod.is_terminating:
        return "in Terminating"
    if is_tied(pod):
        return "of DaemonSets, or static"
    if pod.metadata.controller is None:
        return "that no controller makes again"
    if pod.spec.resource_claims:
        return "whose devices are allocated"
    if pod.spec.scheduler_name not in profiles:
        return "of other schedulers"
    # It runs, so they are bound meanwhile: where to, the snapshot is too old to say.
    return "whose claims are not bound in the snapshot" if claims.unbound(pod) else ""


def _waiting(pod: Pod) -> Pod:
    """The pod before it came to its node."""
    return pod.changed("spec", node_name=None).model_copy(update={"status": PodStatus()})


def _notes(stays: Counter[str]) -> Iterator[str]:
    for reason, pods in stays.most_common():
        yield f"{counted(pods, 'running pod')} {reason}: left where they are"
