"""The constraint families: the filters in kube-scheduler's order, the scores with their weights."""

from typing import Final

from planner.constraints.balanced_allocation import NodeResourcesBalancedAllocation
from planner.constraints.dynamic_resources import DynamicResources
from planner.constraints.family import Filter, Score, Verdict, Violation
from planner.constraints.image_locality import ImageLocality
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_affinity import NodeAffinityPlugin
from planner.constraints.node_declared_features import NodeDeclaredFeatures
from planner.constraints.node_name import NodeName
from planner.constraints.node_ports import NodePorts
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.node_unschedulable import NodeUnschedulable
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.constraints.taint_toleration import TaintToleration
from planner.constraints.volumes import (
    NodeVolumeLimits,
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
)

#: kube-scheduler's filters, in the order in which they are asked; the first refusal counts.
FILTERS: Final[tuple[type[Filter], ...]] = (
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinityPlugin,
    NodePorts,
    NodeResourcesFit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    NodeDeclaredFeatures,
)

#: Those about what a node has: room, ports, and volumes that it reaches and attaches.
OF_NODES: Final[frozenset[type[Filter]]] = frozenset(
    {NodePorts, NodeResourcesFit, VolumeRestrictions, NodeVolumeLimits, VolumeBinding}
)

#: kube-scheduler's scores and how much each counts in the default profile.
WEIGHTS: Final[dict[type[Score], int]] = {
    TaintToleration: 3,
    NodeAffinityPlugin: 2,
    NodeResourcesFit: 1,
    PodTopologySpread: 2,
    InterPodAffinity: 2,
    NodeResourcesBalancedAllocation: 1,
    ImageLocality: 1,
    DynamicResources: 2,
}

__all__ = ["FILTERS", "OF_NODES", "WEIGHTS", "Filter", "Score", "Verdict", "Violation"]
