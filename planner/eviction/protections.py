"""What protects pods from being moved: the default protections, as changed by a DeschedulerPolicy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from models import Cluster, InputError
from models.admission.validation.descheduler import PLUGINS
from models.objects.descheduler import DefaultEvictorArgs, DeschedulerPolicy, TopologySpreadArgs
from models.objects.selectors import LabelSelector

#: Pods of this priority or more are system-critical.
SYSTEM_CRITICAL = 2_000_000_000
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|m|s|ms)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


@dataclass(frozen=True, slots=True)
class Protections:
    """Which pods stay where they are, and how many of the others may go."""

    local_storage: bool = True
    #: Whether an annotation gives local storage up, as for cluster-autoscaler; Descheduler does not read it.
    safe_to_evict: bool = True
    daemon_sets: bool = True
    priority_from: int | None = SYSTEM_CRITICAL
    claims: bool = False
    without_budget: bool = False
    resource_claims: bool = False
    min_replicas: int = 0
    min_age: timedelta | None = None
    selector: LabelSelector | None = None
    included: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset((HARD,))
    most: int | None = None
    most_per_node: int | None = None
    most_per_namespace: int | None = None


def protections_of(cluster: Cluster) -> Protections:
    """The protections that the snapshot's DeschedulerPolicy sets; the defaults without one."""
    policy = cluster.descheduler_policy
    if policy is None:
        return Protections()
    evictor, spread = policy.args(DefaultEvictorArgs), policy.args(TopologySpreadArgs)
    off, on = set(evictor.pod_protections.default_disabled), set(evictor.pod_protections.extra_enabled)
    critical = not (evictor.evict_system_critical_pods or "SystemCriticalPods" in off)
    return Protections(
        local_storage=not (evictor.evict_local_storage_pods or "PodsWithLocalStorage" in off),
        safe_to_evict=False,
        daemon_sets=not (evictor.evict_daemon_set_pods or "DaemonSetPods" in off),
        priority_from=_threshold(cluster, evictor) if critical else None,
        claims=evictor.ignore_pvc_pods or "PodsWithPVC" in on,
        without_budget=evictor.ignore_pods_without_pdb or "PodsWithoutPDB" in on,
        resource_claims="PodsWithResourceClaims" in on,
        min_replicas=evictor.min_replicas,
        min_age=None if evictor.min_pod_age is None else _duration(evictor.min_pod_age),
        selector=_both(evictor.label_selector, spread.label_selector),
        included=frozenset(spread.namespaces.include),
        excluded=frozenset(spread.namespaces.exclude),
        kinds=frozenset(spread.constraints),
        most=policy.max_no_of_pods_to_evict_total,
        most_per_node=policy.max_no_of_pods_to_evict_per_node,
        most_per_namespace=policy.max_no_of_pods_to_evict_per_namespace,
    )


def unmodelled(policy: DeschedulerPolicy | None) -> Iterator[str]:
    """One sentence for each setting of a policy that the planner does not follow."""
    if policy is None:
        return
    evictor, spread = policy.args(DefaultEvictorArgs), policy.args(TopologySpreadArgs)
    for name in policy.other_plugins:
        does = "does not affect how pods are spread" if name in PLUGINS else "does not come with Descheduler"
        yield f"plugin {name} of the DeschedulerPolicy {does}: ignored"
    if policy.node_selector or evictor.node_selector:
        yield "nodeSelector of the DeschedulerPolicy is ignored: moves may start and end on every node"
    if evictor.namespace_label_selector is not None:
        yield "namespaceLabelSelector of the DeschedulerPolicy is ignored: pods of every namespace may move"
    if evictor.pod_protections.config.pods_with_pvc.protected_storage_classes:
        yield "protectedStorageClasses of the DeschedulerPolicy are ignored: claims of every class protect"
    if not spread.topology_balance_node_fit:
        yield "topologyBalanceNodeFit false is not for plans: they move a pod only where it fits"
    if len(policy.profiles) > 1:
        yield "of several profiles in the DeschedulerPolicy the first arguments of each plugin count"


def _threshold(cluster: Cluster, evictor: DefaultEvictorArgs) -> int:
    threshold = evictor.priority_threshold
    if threshold is None or (threshold.value is None and not threshold.name):
        return SYSTEM_CRITICAL
    if threshold.value is not None:
        return min(threshold.value, SYSTEM_CRITICAL)
    values = {found.name: found.value for found in cluster.priority_classes}
    if threshold.name not in values:
        raise InputError(
            [f"DeschedulerPolicy, priorityThreshold.name: there is no PriorityClass {threshold.name!r}"]
        )
    return min(values[threshold.name], SYSTEM_CRITICAL)


def _duration(text: str) -> timedelta:
    """A duration as Go spells it."""
    parts = _DURATION.findall(text)
    if "".join(number + unit for number, unit in parts) != text or not parts:
        raise InputError(
            [f"DeschedulerPolicy, minPodAge: {text!r} is not a duration (for example 30m or 1h15m)"]
        )
    return timedelta(seconds=sum(float(number) * _SECONDS[unit] for number, unit in parts))


def _both(first: LabelSelector | None, second: LabelSelector | None) -> LabelSelector | None:
    """A selector for the pods that both selectors match."""
    if first is None or second is None:
        return first or second
    expressions = (*first.match_expressions, *second.match_expressions)
    clashing = {k for k, v in first.match_labels.items() if second.match_labels.get(k, v) != v}
    if clashing:
        raise InputError([f"DeschedulerPolicy: two label selectors exclude each other at {sorted(clashing)}"])
    return LabelSelector(
        match_labels={**first.match_labels, **second.match_labels}, match_expressions=expressions
    )
