"""NodeUnschedulable: a cordoned node takes no new pods.

Kubernetes 1.34: a node with `spec.unschedulable` refuses every pod that does not tolerate the taint
`node.kubernetes.io/unschedulable:NoSchedule`.
"""

from __future__ import annotations

import numpy as np

from models.objects.affinity import CORDON
from planner.constraints.family import NodeFilter, Rejects, Verdict
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.state import State

_REASON = "node(s) were unschedulable"


class NodeUnschedulable(NodeFilter):
    """Refuses cordoned nodes."""

    name = "NodeUnschedulable"

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        self._some = bool(self.nodes.unschedulable.any())

    def concerns(self, template: Template) -> bool:
        return self._some

    def part(self, template: Template) -> bool:
        return template.pod.spec.tolerates(CORDON)

    def judge(self, template: Template) -> Rejects:
        refused = self.nodes.none if self.part(template) else self.nodes.unschedulable
        return refused.astype(np.int64)

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_REASON,), unresolvable=True)
