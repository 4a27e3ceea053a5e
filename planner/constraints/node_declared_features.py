"""NodeDeclaredFeatures: a pod that needs a feature of the kubelet goes where it is declared.

Kubernetes, from 1.36 on: the kubelet lists in `status.declaredFeatures` what it can do, and a pod needs
RestartAllContainersOnContainerExits when a container's restart rule says RestartAllContainers, and
UserNamespacesHostNetworkSupport when it has a user namespace of its own on the host's network.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from models.objects.pod import Pod
from planner.constraints.family import NodeFilter, Rejects, Verdict
from planner.problem.templates import Template

_REASON = "node(s) didn't match Pod's required features"
_RESTART_ALL = "RestartAllContainersOnContainerExits"
_USER_NAMESPACE_ON_HOST = "UserNamespacesHostNetworkSupport"


class NodeDeclaredFeatures(NodeFilter):
    """Refuses nodes whose kubelet lacks a feature that the pod needs."""

    name = "NodeDeclaredFeatures"

    def concerns(self, template: Template) -> bool:
        return self.problem.behaviour.matches_declared_features and bool(self.part(template))

    def part(self, template: Template) -> frozenset[str]:
        return frozenset(_needed(template.pod))

    def judge(self, template: Template) -> Rejects:
        needed = self.part(template)
        lacks = (not needed.issubset(node.status.declared_features) for node in self.nodes.nodes)
        return np.fromiter(lacks, np.int64, self.nodes.size)

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_REASON,), unresolvable=True)


def _needed(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    for found in spec.all_containers:
        if any(rule.action == "RestartAllContainers" for rule in found.restart_policy_rules):
            yield _RESTART_ALL
            break
    if spec.host_network and spec.host_users is False:
        yield _USER_NAMESPACE_ON_HOST
