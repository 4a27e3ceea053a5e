"""Taints that tell the state of a node: its controllers set them, and take them off.

All others say what a node is for, such as `node.kubernetes.io/os=windows` or `dedicated=db`: they stay.
"""

from __future__ import annotations

from models.objects.affinity import Taint

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
