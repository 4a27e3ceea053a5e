"""Which changes answer which plugin: the table of all that `explain` tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

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
