"""Which changes answer which plugin: the table of all that `explain` tries.

And what a pod lacks before any node is asked about it: a gate that is to go, claims that are to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from models.objects.pod import PodSpec
from planner.constraints import Filter
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_affinity import NodeAffinityPlugin
from planner.constraints.node_ports import NodePorts
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.node_unschedulable import NodeUnschedulable
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.constraints.taint_toleration import TaintToleration
from planner.constraints.volumes import NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone
from planner.explain import node_rules, pod_affinity_changes, room_changes, spread_rules
from planner.explain.blockers import Blocker, PendingCase
from planner.explain.change import ClusterChange, Cost
from planner.problem.problem import GATED

#: What a filter refuses, taken apart, each with its changes; the argument is the filter of that class.
#: A filter that is not here refuses nodes for reasons that no change answers.
CHANGES: Mapping[type[Filter], Callable[[PendingCase, Any], Iterator[Blocker]]] = {
    NodeUnschedulable: node_rules.cordon,
    TaintToleration: node_rules.taints,
    NodeAffinityPlugin: node_rules.affinity,
    NodePorts: room_changes.ports,
    NodeResourcesFit: room_changes.resources,
    VolumeRestrictions: room_changes.disks,
    NodeVolumeLimits: room_changes.attachments,
    VolumeBinding: room_changes.fixed_volumes,
    VolumeZone: room_changes.fixed_volumes,
    PodTopologySpread: spread_rules.constraints,
    InterPodAffinity: pod_affinity_changes.terms,
}


def blockers_of(case: PendingCase) -> list[Blocker]:
    """Every rule that refuses the pod some node."""
    return [
        blocker
        for plugin in sorted(case.framework.profile.filters, key=_place)
        if type(plugin) in CHANGES
        for blocker in CHANGES[type(plugin)](case, plugin)
        if blocker.mask.any()
    ]


def _place(plugin: Filter) -> int:
    """Where a filter stands in the table; a profile may ask its filters in another order."""
    return [*CHANGES, type(plugin)].index(type(plugin))


def without_gates(case: PendingCase) -> Iterator[ClusterChange]:
    """The scheduling gates taken off."""
    if case.static.messages.get(case.pod) == GATED:
        gates = case.template.pod.spec.scheduling_gates
        yield ClusterChange(
            "RemoveSchedulingGate",
            Cost.GATE,
            "remove the scheduling gate " + ", ".join(gate.name for gate in gates),
            edit=lambda spec: spec.model_copy(update={"scheduling_gates": ()}),
        )


def with_claims(case: PendingCase) -> Iterator[ClusterChange]:
    """The claims made that the pod uses and that are not there; where their volumes will be is not known."""
    claims, pod = case.state.claims.by_key, case.template.pod
    used = [v.persistent_volume_claim for v in pod.spec.volumes if v.persistent_volume_claim is not None]
    names = tuple(claim.claim_name for claim in used if f"{pod.namespace}/{claim.claim_name}" not in claims)
    if names and not case.problem.cluster.is_unseen("persistentvolumeclaims"):
        words = f"create claim{'s' if len(names) > 1 else ''} {', '.join(names)}"
        edit = partial(_without_volumes, names=names)
        yield ClusterChange("CreateClaim", Cost.CREATE_CLAIM, words, edit=edit, claims=names)


def _without_volumes(spec: PodSpec, names: Sequence[str]) -> PodSpec:
    kept = tuple(
        volume
        for volume in spec.volumes
        if volume.persistent_volume_claim is None or volume.persistent_volume_claim.claim_name not in names
    )
    return spec.model_copy(update={"volumes": kept})
