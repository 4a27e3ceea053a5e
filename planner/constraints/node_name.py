"""NodeName: a pod that names its node goes there or nowhere.

Kubernetes 1.34: `spec.nodeName` of the incoming pod must equal the node's name.  A pod that names its
node is bound to it in every snapshot, so no pending pod is ever refused; the plugin keeps its place in
the list so that it can be compared with kube's.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from planner.constraints.family import NodeFilter, Rejects, Verdict
from planner.problem.templates import Template

_REASON = "node(s) didn't match the requested node name"


class NodeName(NodeFilter):
    """Refuses every node but the one the pod names."""

    name = "NodeName"

    def concerns(self, template: Template) -> bool:
        return False

    def part(self, template: Template) -> Hashable:
        return None

    def judge(self, template: Template) -> Rejects:
        return np.zeros(self.nodes.size, np.int64)

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_REASON,), unresolvable=True)
