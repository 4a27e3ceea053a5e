"""The affinity terms of pods, read once a template, and which pods own which.

kube-scheduler 1.34 to 1.37 asks the namespaceSelector of an incoming pod's terms once more, about no labels:
with NotIn or DoesNotExist alone it selects all namespaces (kubernetes/kubernetes#141526).  The terms of pods
that are there already select what they say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from models.objects.affinity import PodAffinity, PodAffinityTerm
from models.objects.selectors import LabelSelector
from planner.problem.problem import Problem
from planner.problem.selection import Selection, SelectionIndex
from planner.problem.templates import Template
from planner.state.pod_counts import PodCounts
from planner.state.state import State


class Term(NamedTuple):
    """Some pods and the label whose domains matter."""

    selection: Selection
    key: str


class TermPreferences(NamedTuple):
    """All terms of a template, by kind; preferred ones with their weight, below zero for anti-affinity."""

    needs: tuple[Term, ...]
    anti_affinity: tuple[Term, ...]
    preferred: tuple[tuple[int, Term], ...]

    @property
    def required(self) -> bool:
        """Whether any term can refuse a node."""
        return bool(self.needs or self.anti_affinity)


NO_TERMS = TermPreferences((), (), ())


class Reader:
    """Reads the terms of templates; it knows the namespaces that selectors may mean."""

    def __init__(self, problem: Problem) -> None:
        self._namespace_labels = problem.namespace_labels

    def read(self, template: Template, *, placed: bool = False) -> TermPreferences:
        """The terms of a template's pods: as an incoming pod has them, or one that is there already."""
        affinity = template.pod.spec.affinity
        if template.plain or affinity is None:
            return NO_TERMS
        near, apart = (
            affinity.pod_affinity or PodAffinity(),
            affinity.pod_anti_affinity or PodAffinity(),
        )
        return TermPreferences(
            tuple(self._term(term, template, placed) for term in near.required),
            tuple(self._term(term, template, placed) for term in apart.required),
            tuple(
                (sign * item.weight, self._term(item.pod_affinity_term, template, placed))
                for sign, side in ((1, near), (-1, apart))
                for item in side.preferred
            ),
        )

    def _term(self, term: PodAffinityTerm, template: Template, placed: bool) -> Term:
        namespaces: frozenset[str] | None = frozenset(term.namespaces)
        if term.namespace_selector is not None:
            namespaces = self._namespaces(term.namespaces, term.namespace_selector, placed)
        elif not namespaces:
            namespaces = frozenset((template.namespace,))
        selector, keys = term.label_selector, (term.match_label_keys, term.mismatch_label_keys)
        if selector is not None:
            selector = selector.with_own_labels(template.labels, *keys)
        return Term(Selection(namespaces, selector), term.topology_key)

    def _namespaces(
        self, named: Iterable[str], selector: LabelSelector, placed: bool
    ) -> frozenset[str] | None:
        if selector.empty or (not placed and selector.matches({})):
            return None
        known = self._namespace_labels.items()
        return frozenset(named) | {name for name, labels in known if selector.matches(labels)}


class TermOwners:
    """Terms by their owners: placed pods whose terms apply to an incoming one."""

    def __init__(self, *name: Hashable) -> None:
        self._name = name
        self._members: dict[tuple[Term, int], dict[int, int]] = defaultdict(dict)
        self._index: SelectionIndex[tuple[Term, int]] = SelectionIndex()

    def add(self, number: int, term: Term, weight: int) -> None:
        """Remember that a template's pods have this term, with this weight."""
        item = (term, weight)
        if item not in self._members:
            self._index.add(term.selection, item)
        self._members[item][number] = self._members[item].get(number, 0) + 1

    def any_of(self, template: Template) -> bool:
        """Whether any term means this template."""
        return bool(self._members) and any(True for _ in self._index.matching(template))

    def of(self, template: Template, state: State) -> Iterator[tuple[PodCounts, str, int]]:
        """The terms that mean this template: their owners counted, the label, the weight."""
        for item in self._index.matching(template):
            term, weight = item
            yield state.tally((*self._name, item), partial(self._members.__getitem__, item)), term.key, weight
