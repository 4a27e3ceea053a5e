"""NodeAffinity: the nodes a pod asks for, and those it would rather have.

Kubernetes 1.34: `nodeSelector` and the required node affinity must both match; the terms of the
affinity are alternatives.  A profile's `addedAffinity` must match as well.  When every term names
nodes by `metadata.name`, other nodes are left out before any filter looks at them.  Scoring sums
the weights of the preferred terms that match; an empty preferred term counts for nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from models.objects.affinity import NodeAffinity as Asked
from models.objects.affinity import PreferredSchedulingTerm
from models.objects.selectors import NodeSelectorTerm
from planner.constraints.family import NodeFilter, Rejects, Score, Verdict, normalized
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Feasible, Ints
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.state import State

_REASON = "node(s) didn't match Pod's node affinity/selector"
_REASON_ADDED = "node(s) didn't match scheduler-enforced node affinity"
_REASON_CONFLICT = "pod affinity terms conflict"
_MISMATCH, _MISMATCH_ADDED = 1, 2


class NodeAffinityPlugin(NodeFilter, Score):
    """Refuses nodes outside nodeSelector and required affinity; likes the preferred ones."""

    name = "NodeAffinity"

    def __init__(self, problem: Problem, state: State, added: Asked | None = None) -> None:
        super().__init__(problem, state)
        self.added = added
        self._liked: ArrayCache[Ints] = ArrayCache(self.nodes.size)

    def concerns(self, template: Template) -> bool:
        spec = template.pod.spec
        own = bool(spec.node_selector) or spec.required_nodes is not None
        return own or (self.added is not None and self.added.required is not None)

    def part(self, template: Template) -> Hashable:
        return template.eligibility

    def judge(self, template: Template) -> Rejects:
        codes = np.where(self.problem.eligibility.by_affinity(template), 0, _MISMATCH).astype(np.int64)
        if self.added is not None and self.added.required is not None:
            codes[~self.nodes.matching(self.added.required)] = _MISMATCH_ADDED
        return codes

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_REASON_ADDED if code == _MISMATCH_ADDED else _REASON,), unresolvable=True)

    def named_nodes(self, template: Template) -> frozenset[str] | None:
        """The only nodes that the required terms can mean, when each names its nodes; else None."""
        required = template.pod.spec.required_nodes
        if required is None:
            return None
        named: set[str] = set()
        for term in required.node_selector_terms:
            names = _names(term)
            if names is None:
                return None
            named |= names
        return frozenset(named)

    def refusal(self, template: Template) -> str | None:
        return _REASON_CONFLICT if self.named_nodes(template) == frozenset() else None

    def prefers(self, template: Template) -> bool:
        return bool(self._preferred(template))

    def score(self, template: Template, feasible: Feasible) -> Ints | int | None:
        return normalized(self.preference_score(template), feasible)

    def preference_score(self, template: Template) -> Ints:
        """For every node the weights of the preferred terms that it matches."""
        return self._liked.get(template.index, lambda: self._sum_weights(self._preferred(template)))

    def _preferred(self, template: Template) -> tuple[PreferredSchedulingTerm, ...]:
        affinity = template.pod.spec.node_affinity
        own = () if affinity is None else affinity.preferred
        return own if self.added is None else (*own, *self.added.preferred)

    def _sum_weights(self, preferred: Iterable[PreferredSchedulingTerm]) -> Ints:
        total = np.zeros(self.nodes.size, np.int64)
        for term in preferred:
            total += term.weight * self.nodes.matching_term(term.preference)
        return total


def _names(term: NodeSelectorTerm) -> set[str] | None:
    """The nodes that a term names by its fields; None when it names none."""
    names: set[str] | None = None
    for requirement in term.match_fields:
        if requirement.operator == "In":
            values = set(requirement.values)
            names = values if names is None else names & values
    return names
