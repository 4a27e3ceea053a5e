"""Why a pod should not come to a node although a change would let it: it would be placed, and not run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from models.objects.affinity import Taint
from models.objects.node import CONTROL_PLANE, VIRTUAL, Node
from models.objects.pod import PodSpec
from planner.explain.blockers import PendingCase
from planner.problem.eligibility import node_state

#: Words in a taint's key that stand for a device.
_DEVICE = re.compile(r"(^|[^a-z])([gtn]pu|fpga|accelerator|dedicated-device)s?($|[^a-z])", re.IGNORECASE)
#: What an image is built for, as labels have it; taints of clouds end alike: `node.kubernetes.io/os=windows`.
_PLATFORM = {"os": "operating system", "arch": "architecture"}
_PLATFORM_LABELS = {
    f"{group}/{name}": name for group in ("kubernetes.io", "beta.kubernetes.io") for name in _PLATFORM
}
#: Their usual values: none is a slip for another, however much alike amd64 and arm64 are.
PLATFORMS = frozenset({"linux", "windows", "amd64", "arm64", "arm", "386", "ppc64le", "s390x", "riscv64"})


def risk_of_taint(case: PendingCase, taint: Taint, node: Node) -> str:
    """Why a taint should stay; empty where the pod is one of those that the node is there for."""
    if state := node_state(taint):
        return f"{taint.key} says that the node {state}"
    if risk := risk_of_kind(case.template.pod.spec, taint):
        return risk
    containers = case.template.pod.spec.containers
    asked = {name for container in containers for name in container.resources.defaulted}
    devices = {name for name in node.status.allocatable if "/" in name}
    if (taint.key in devices or _DEVICE.search(taint.key)) and not asked & devices:
        return f"{taint.key} keeps nodes for pods that ask for a device, and this one does not"
    return ""


def risk_of_kind(spec: PodSpec, taint: Taint) -> str:
    """Why a pod should keep away from nodes of a kind, which a taint tells, however many are added."""
    if taint.key in CONTROL_PLANE:
        return f"{taint.key} keeps other pods away from the control plane"
    if taint.key.startswith(VIRTUAL):
        return f"{taint.key} keeps a virtual node for pods that may run outside of the cluster's machines"
    return _risk_of_platform(spec, taint)


def _risk_of_platform(spec: PodSpec, taint: Taint) -> str:
    """Why a pod should keep away from another operating system or architecture, which a taint tells."""
    name = taint.key.rpartition("/")[2]
    wanted = {value for key, value in required_labels(spec) if _PLATFORM_LABELS.get(key) == name}
    if name not in _PLATFORM or taint.value in wanted:
        return ""
    platform = taint.value or f"another {_PLATFORM[name]}"
    return f"{taint.key} keeps nodes for pods that are built for {platform}, and this one does not say so"


def risk_without(keys: Iterable[str]) -> str:
    """Why a pod should go on asking for these labels of its node."""
    platform = next((key for key in keys if key in _PLATFORM_LABELS), "")
    return f"{platform} says what the pod's images are built for" if platform else ""


def required_labels(spec: PodSpec) -> Iterator[tuple[str, str]]:
    """The labels that a pod asks of its node by nodeSelector and required node affinity, and their values."""
    yield from spec.node_selector.items()
    required = spec.required_nodes
    for term in required.node_selector_terms if required else ():
        for item in term.match_expressions:
            if item.operator == "In":
                yield from ((item.key, value) for value in item.values)
