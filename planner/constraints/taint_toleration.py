"""TaintToleration: nodes repel pods that do not tolerate their taints.

Kubernetes: the first taint with effect NoSchedule or NoExecute that no toleration matches refuses the
node.  The message names that taint up to 1.34.8; from 1.34.9 on all such nodes are counted together.
Scoring counts the untolerated PreferNoSchedule taints, fewest first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from models.objects.affinity import Taint, Toleration
from planner.constraints.family import MAX_SCORE, NodeFilter, Rejects, Score, Verdict, normalized
from planner.problem.array_cache import ArrayCache
from planner.problem.eligibility import keeps_away
from planner.problem.nodes import Feasible, Ints
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.state import State

_REASON = "node(s) had untolerated taint(s)"


class TaintToleration(NodeFilter, Score):
    """Refuses untolerated NoSchedule and NoExecute taints, and scores PreferNoSchedule ones lower."""

    name = "TaintToleration"

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        self._taints: dict[Taint, int] = {}
        self._soft_taints: ArrayCache[Ints] = ArrayCache(self.nodes.size)
        effects = {taint.effect for taints in self.nodes.taint_sets for taint in taints}
        self._repels = not effects.isdisjoint(("NoSchedule", "NoExecute"))
        self._has_soft_taints = "PreferNoSchedule" in effects

    def concerns(self, template: Template) -> bool:
        return self._repels

    def part(self, template: Template) -> Hashable:
        return template.tolerations

    def judge(self, template: Template) -> Rejects:
        return self.nodes.by_taints(lambda taints: self._number(taints, template))

    def _number(self, taints: Sequence[Taint], template: Template) -> int:
        first = next((taint for taint in taints if keeps_away(taint, template.pod.spec)), None)
        if first is None or not self.problem.behaviour.names_taints:
            return int(first is not None)
        return self._taints.setdefault(first, len(self._taints) + 1)

    def verdict(self, template: Template, code: int) -> Verdict:
        if not self.problem.behaviour.names_taints:
            return Verdict((_REASON,), unresolvable=True)
        taint = list(self._taints)[code - 1]
        return Verdict((f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}",), unresolvable=True)

    def is_of_node(self, template: Template) -> bool:
        return not self._has_soft_taints

    def score(self, template: Template, feasible: Feasible) -> Ints | int:
        if not self._has_soft_taints:
            return MAX_SCORE
        tolerations = template.pod.spec.tolerations
        raw = self._soft_taints.get(template.tolerations, lambda: self._count_soft_taints(tolerations))
        return normalized(raw, feasible, reverse=True)

    def _count_soft_taints(self, tolerations: Sequence[Toleration]) -> Ints:
        willing = [t for t in tolerations if t.effect in ("", "PreferNoSchedule")]
        return self.nodes.by_taints(
            lambda taints: sum(
                taint.effect == "PreferNoSchedule" and not any(t.tolerates(taint) for t in willing)
                for taint in taints
            )
        )
