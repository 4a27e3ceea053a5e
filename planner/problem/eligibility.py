"""Which nodes a pod's own affinity and tolerations leave it, whatever else is going on.

Two families need this: the ones that refuse such nodes, and topology spread, whose inclusion
policies decide by it which nodes count as domains.

Taints that tell the state of a node are set by its controllers, which take them off.  All others say what a
node is for, such as `node.kubernetes.io/os=windows` or `dedicated=db`: they stay.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from models.objects.affinity import Taint
from models.objects.pod import Pod, PodSpec
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Mask, NodeAxis

if TYPE_CHECKING:
    from planner.problem.templates import Template

_REPELLING = ("NoSchedule", "NoExecute")


def affinity_part(pod: Pod) -> Hashable:
    """What of a pod decides which nodes it may run on."""
    return tuple(sorted(pod.spec.node_selector.items())), pod.spec.required_nodes


def keeps_away(taint: Taint, spec: PodSpec) -> bool:
    """Whether a taint keeps a pod off a node."""
    return taint.effect in _REPELLING and not spec.tolerates(taint)


class Eligibility:
    """The nodes that nodeSelector, required affinity and tolerations allow, per template."""

    def __init__(self, nodes: NodeAxis) -> None:
        self._nodes = nodes
        self._by_affinity: ArrayCache[Mask] = ArrayCache(nodes.size)
        self._by_taints: ArrayCache[Mask] = ArrayCache(nodes.size)

    def by_affinity(self, template: Template) -> Mask:
        """The nodes that the pod's nodeSelector and required node affinity both match."""
        return self._by_affinity.get(template.eligibility, lambda: self._match(template))

    def _match(self, template: Template) -> Mask:
        spec = template.pod.spec
        mask = self._nodes.with_labels(spec.node_selector.items())
        return mask if spec.required_nodes is None else mask & self._nodes.matching(spec.required_nodes)

    def by_taints(self, template: Template) -> Mask:
        """The nodes without a NoSchedule or NoExecute taint that the pod does not tolerate."""
        spec = template.pod.spec
        return self._by_taints.get(
            template.tolerations,
            lambda: self._nodes.by_taints(lambda taints: any(keeps_away(one, spec) for one in taints)) == 0,
        )


_SICK = frozenset(
    f"node.kubernetes.io/{condition}"
    for condition in (
        "not-ready",
        "unreachable",
        "unschedulable",
        "memory-pressure",
        "disk-pressure",
        "pid-pressure",
        "network-unavailable",
        "out-of-service",
    )
)
#: Cloud providers, Cluster API, Karpenter and network plugins: off once the node is set up.
_STARTING = frozenset(
    {
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cluster.x-k8s.io/uninitialized",
        "karpenter.sh/unregistered",
    }
)
#: How drivers and network plugins call it: `ebs.csi.aws.com/agent-not-ready`.
_AGENT = "/agent-not-ready"
#: Autoscalers and clouds: there until the node is gone.
_LEAVING = frozenset(
    {
        "node.cloudprovider.kubernetes.io/shutdown",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        "cloud.google.com/impending-node-termination",
    }
)


def node_state(taint: Taint) -> str:
    """What a taint says about the state of its node; empty where it says what the node is for."""
    if taint.key in _SICK:
        return "does not work as it should"
    if taint.key in _STARTING or taint.key.endswith(_AGENT):
        return "is not set up yet"
    return "is about to go" if taint.key in _LEAVING else ""


def lasting(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """The taints that a new node of the same kind has, too."""
    return tuple(taint for taint in taints if not node_state(taint))
