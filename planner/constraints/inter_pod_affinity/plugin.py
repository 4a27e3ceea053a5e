"""The plugin: counts of affinity peers per domain, asked for one template."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models.objects.scheduler_config import InterPodAffinityArgs
from planner.constraints.family import MAX_SCORE, PLENTY, Filter, Rejects, Score, Verdict, Violation
from planner.constraints.inter_pod_affinity.encoding import (
    anti_affinity,
    keep_away,
    keep_out,
    like,
    need,
    need_together,
)
from planner.constraints.inter_pod_affinity.terms import NO_TERMS, Reader, Term, TermOwners, TermPreferences
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import ALL, Codes, Column, Feasible, Ints, Mask, Where
from planner.problem.problem import Problem
from planner.problem.selection import Members, Selection
from planner.problem.templates import Template
from planner.state.pod_counts import DomainCounts, PodCounts
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

#: In reverse order of precedence: of several reasons the largest is told.
_EXISTING, _ANTI_AFFINITY, _AFFINITY = 1, 2, 3
_REASONS = {
    _AFFINITY: "node(s) didn't match pod affinity rules",
    _ANTI_AFFINITY: "node(s) didn't match pod anti-affinity rules",
    _EXISTING: "node(s) didn't satisfy existing pods anti-affinity rules",
}


@dataclass(frozen=True, slots=True)
class Around:
    """Pods counted per domain of one label, and how much each counts."""

    column: Column
    counts: DomainCounts
    weight: int = 1

    def anywhere(self) -> bool:
        """Whether there is such a pod in any domain."""
        return bool(self.counts.sums().any())

    def here(self, where: Where) -> Mask:
        """The nodes whose domain holds such a pod."""
        return (self.counts.padded() > 0)[self.column.codes[where]]

    def others(self, template: Template, nodes: Codes) -> Ints:
        """For nodes with a pod of the template, the pods that are counted in the domain beside it."""
        found: Ints = self.counts.padded()[self.column.codes[nodes]] - self._itself(template, nodes)
        return found

    def others_anywhere(self, template: Template, nodes: Codes) -> Ints:
        """The same in all domains."""
        found: Ints = self.counts.sums().sum() - self._itself(template, nodes)
        return found

    def _itself(self, template: Template, nodes: Codes) -> Ints:
        members = self.counts.tally.members
        amount = members.get(template.index, 0) * self.column.present[nodes]
        where = members.where if isinstance(members, Members) else {}
        counted: Ints = amount * where[template.index][nodes] if template.index in where else amount
        return counted

    def weighed(self) -> Ints:
        """The weights added up in every node's domain."""
        return (self.counts.padded() * self.weight)[self.column.codes]


@dataclass(frozen=True, slots=True)
class AffinityRules:
    """What decides about one template, with live counts."""

    needs: tuple[Around, ...]
    has_all_labels: Mask
    matches_own_terms: bool
    anti_affinity: tuple[Around, ...]
    kept_out_by: tuple[Around, ...]
    keeps_away: tuple[tuple[Term, Around], ...]
    """The anti-affinity terms of the template's pods once they are placed."""

    @property
    def every(self) -> tuple[Around, ...]:
        return *self.needs, *self.anti_affinity, *self.kept_out_by


class InterPodAffinity(Filter, Score):
    """Required and preferred affinity and anti-affinity between pods."""

    name = "InterPodAffinity"

    def __init__(self, problem: Problem, state: State, args: InterPodAffinityArgs | None = None) -> None:
        super().__init__(problem, state)
        self._args = args or InterPodAffinityArgs()
        reader = Reader(problem)
        self._terms = [
            NO_TERMS if template.plain else reader.read(template) for template in problem.templates
        ]
        #: The same once the pods are placed, when they are asked about others.
        self._placed = [
            terms if terms is NO_TERMS else reader.read(template, placed=True)
            for template, terms in zip(problem.templates, self._terms, strict=True)
        ]
        self._anti_affinity_owners = TermOwners(self.name, "anti-affinity")
        self._affinity_owners = TermOwners(self.name, "like", self._args.hard_pod_affinity_weight)
        for number, terms in enumerate(self._placed):
            if terms is not NO_TERMS:
                self._register(number, terms)
        self._rules: ArrayCache[AffinityRules] = ArrayCache(self.nodes.size)
        self._weights: ArrayCache[tuple[Around, ...]] = ArrayCache(self.nodes.size)

    def _register(self, number: int, terms: TermPreferences) -> None:
        for term in terms.anti_affinity:
            self._anti_affinity_owners.add(number, term, 1)
        hard = self._args.hard_pod_affinity_weight
        weighted = [(hard, term) for term in terms.needs] if hard else []
        for weight, term in (*weighted, *terms.preferred):
            self._affinity_owners.add(number, term, weight)

    def _around(self, tally: PodCounts, key: str, weight: int = 1) -> Around:
        column = self.nodes.column(key)
        return Around(column, self.state.domain_counts(tally, column), weight)

    def _matched(self, selections: tuple[Selection, ...]) -> PodCounts:
        return self.state.tally((self.name, selections), lambda: self._match_all(selections))

    def _match_all(self, selections: tuple[Selection, ...]) -> Members:
        first, *others = (self.problem.members(selection, terminating=True) for selection in selections)
        return first.common(others)

    def rules(self, template: Template) -> AffinityRules:
        """What decides about a template, with live counts."""
        return self._rules.get(template.index, lambda: self._make_rules(template))

    def affinity_peers(self, template: Template) -> Iterable[DomainCounts]:
        """The pods that its required affinity means."""
        return [around.counts for around in self.rules(template).needs]

    def _make_rules(self, template: Template) -> AffinityRules:
        terms, placed = self._terms[template.index], self._placed[template.index]
        needed = tuple(dict.fromkeys(term.selection for term in terms.needs))
        keys = tuple(dict.fromkeys(term.key for term in terms.needs))
        return AffinityRules(
            needs=tuple(self._around(self._matched(needed), key) for key in keys),
            has_all_labels=self.nodes.with_keys(keys),
            matches_own_terms=all(selection.matches(template) for selection in needed),
            anti_affinity=tuple(
                self._around(self._matched((term.selection,)), term.key) for term in terms.anti_affinity
            ),
            kept_out_by=tuple(
                self._around(tally, key)
                for tally, key, _ in self._anti_affinity_owners.of(template, self.state)
            ),
            keeps_away=tuple(
                (term, self._around(self._matched((term.selection,)), term.key))
                for term in placed.anti_affinity
            ),
        )

    def reads(self, template: Template) -> Iterator[PodCounts]:
        for around in (*self.rules(template).every, *self._weighted(template)):
            yield around.counts.tally

    def concerns(self, template: Template) -> bool:
        return self._terms[template.index].required or self._anti_affinity_owners.any_of(template)

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        rules = self.rules(template)
        codes = np.zeros(self.nodes.size, np.int8)[where]
        for code, arounds in ((_EXISTING, rules.kept_out_by), (_ANTI_AFFINITY, rules.anti_affinity)):
            for around in arounds:
                np.maximum(codes, around.here(where).view(np.int8) * np.int8(code), out=codes)
        if rules.needs:
            alone = ~self._has_affinity_peer(rules, where)
            np.maximum(codes, alone.view(np.int8) * np.int8(_AFFINITY), out=codes)
        return codes

    def stamp(self, template: Template) -> Hashable:
        return tuple(around.counts.version for around in self.rules(template).every)

    def lacks_peers(self, template: Template) -> Mask:
        """The nodes where affinity peers that the template needs are missing."""
        lacking: Mask = np.asarray(self.reject(template) == _AFFINITY)
        return lacking

    def _has_affinity_peer(self, rules: AffinityRules, where: Where) -> Mask:
        if rules.matches_own_terms and not any(around.anywhere() for around in rules.needs):
            return rules.has_all_labels[where]
        together = rules.needs[0].here(where)
        for around in rules.needs[1:]:
            together &= around.here(where)
        return together

    def accepts_again(self, template: Template, pods: Codes) -> bool:
        rules, nodes = self.rules(template), self.state.node_of[pods]
        accepted = rules.has_all_labels[nodes]
        for around in (*rules.anti_affinity, *rules.kept_out_by):
            accepted = accepted & (around.others(template, nodes) <= 0)
        if rules.needs:
            near = [around.others(template, nodes) > 0 for around in rules.needs]
            alone = [around.others_anywhere(template, nodes) <= 0 for around in rules.needs]
            starts = np.logical_and.reduce(alone) & rules.matches_own_terms
            accepted = accepted & (np.logical_and.reduce(near) | starts)
        return bool(accepted.all())

    def wants_pods(self, template: Template) -> bool:
        return bool(self.rules(template).needs)

    def is_local(self, template: Template) -> bool:
        """With anti-affinity alone, where every node has a domain of its own."""
        rules = self.rules(template)
        columns = (around.column for around in (*rules.anti_affinity, *rules.kept_out_by))
        return not rules.needs and all(
            len(column.values) == np.count_nonzero(column.present) for column in columns
        )

    def watches(self, template: Template) -> Collection[int]:
        every = self.rules(template).every
        return {number for around in every for number in around.counts.tally.members}

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        rules = self.rules(template)
        limit = np.where(rules.has_all_labels, PLENTY, 0)
        for around in (*rules.anti_affinity, *rules.kept_out_by):
            limit[around.here(ALL)] = 0
        for term, around in zip(self._terms[template.index].anti_affinity, rules.anti_affinity, strict=True):
            if term.selection.matches(template):
                limit[around.column.present] = np.minimum(limit[around.column.present], 1)
        return limit

    def tells_apart(self, template: Template) -> Iterator[NDArray[Any]]:
        return (around.column.codes for around in self.rules(template).every)

    def encode(self, x: Counts) -> None:
        """No pod near those with anti-affinity to it, and peers for those that need them."""
        for number in x.carriers:
            template = self.problem.templates[number]
            rules = self.rules(template)
            for _, around in rules.keeps_away:
                anti_affinity(x, template, around.column, around.counts.tally.members)
            if x.one_comes or x.is_final_state:
                counts = [around.counts for around in rules.needs]
                need_together(x, template, counts, itself=rules.matches_own_terms)
                continue
            for around in rules.needs:
                need(x, template, around.counts, self._peers(template))
        # Nor do pods come to a domain with pods that keep them out and were not asked about it themselves.
        for number in x.batch.wanted.keys() - x.asked if x.is_final_state else ():
            for _, around in self.rules(self.problem.templates[number]).keeps_away:
                avoided = around.counts.tally.members.keys() & x.carriers
                keep_away(x, (number,), around.column, avoided)

    def encode_running(self, x: Counts, running: Collection[int]) -> None:
        """No pod that was not asked about it comes near running pods with anti-affinity to it."""
        unasked = x.batch.wanted.keys() - x.asked
        for number in running if unasked else ():
            template = self.problem.templates[number]
            for term, around in () if template.terminating else self.rules(template).keeps_away:
                avoided = around.counts.tally.members.keys() & unasked
                codes = set(around.column.codes[self.state.nodes_of(number)].tolist())
                itself = int(term.selection.matches(template))
                kept = {code for code in codes if code >= 0 and around.counts.sums()[code] <= itself}
                if avoided:
                    keep_out(x, kept, around.column, avoided)

    def _peers(self, template: Template) -> frozenset[int]:
        """The templates that need the same affinity peers."""
        needs = set(self._terms[template.index].needs)
        return frozenset(n for n, terms in enumerate(self._terms) if set(terms.needs) == needs)

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_REASONS[code],), unresolvable=code == _AFFINITY)

    def prefers(self, template: Template) -> bool:
        return self.prefers_affinity_peers(template) or self._affinity_owners.any_of(template)

    def score(self, template: Template, feasible: Feasible) -> Ints | None:
        weights = [around for around in self._weighted(template) if around.anywhere()]
        if not weights:
            return None
        raw: Ints = np.sum([around.weighed() for around in weights], axis=0)
        raw -= raw.min()
        least = feasible.smallest(raw)
        spread = feasible.largest(raw) - least
        if spread == 0:
            return np.zeros_like(raw)
        scaled: Ints = (MAX_SCORE * ((raw - least) / spread)).astype(np.int64)
        return feasible.only(scaled)

    def _weighted(self, template: Template) -> tuple[Around, ...]:
        return self._weights.get(template.index, lambda: tuple(self._make_weights(template)))

    def _make_weights(self, template: Template) -> Iterator[Around]:
        terms = self._terms[template.index]
        if not terms.preferred and self._args.ignore_preferred_terms_of_existing_pods:
            return
        for weight, term in terms.preferred:
            yield self._around(self._matched((term.selection,)), term.key, weight)
        for tally, key, weight in self._affinity_owners.of(template, self.state):
            yield self._around(tally, key, weight)

    def preference_score(self, template: Template) -> Ints:
        """For every node the weights of the preferred terms that a pod of the template there has met.

        A term is met by one more pod in the domain, whichever it is; an anti-affinity term counts
        against the node.
        """
        total = np.zeros(self.nodes.size, np.int64)
        for weight, itself, around in self._preferred(template):
            total += weight * (around.counts.padded() > itself)[around.column.codes]
        return total

    def _preferred(self, template: Template) -> Iterator[tuple[int, int, Around]]:
        """The template's preferred terms: weight, whether it matches itself, and the pods around."""
        for weight, term in self._terms[template.index].preferred:
            itself = int(term.selection.matches(template))
            yield weight, itself, self._around(self._matched((term.selection,)), term.key)

    def express_preference(self, x: Counts, template: Template) -> Any:
        """The same over all pods of the template that come, in the solver's terms."""
        terms = self._preferred(template)
        return sum(like(x, template.index, around.counts, weight, itself) for weight, itself, around in terms)

    def prefers_affinity_peers(self, template: Template) -> bool:
        """Whether the template has preferred terms of its own."""
        return bool(self._terms[template.index].preferred)

    def violations(self) -> Iterator[Violation]:
        """Pods apart from the peers they need, or together with pods of their anti-affinity."""
        for pod in self.state.placed(n for n, terms in enumerate(self._terms) if terms.required):
            yield from self._violations_of(pod, int(self.state.node_of[pod]))

    def _violations_of(self, pod: int, node: int) -> Iterator[Violation]:
        template = self.problem.template(pod)
        rules, key, here = self.rules(template), self.problem.pods[pod].key, np.array([node])
        name = self.nodes.names[node]
        if rules.needs and not all(around.here(here)[0] for around in rules.needs):
            yield Violation(
                self.name, key, name, f"{key} on {name} lacks the pods that its affinity requires"
            )
        for term, around in rules.keeps_away:
            code = around.column.codes[node]
            itself = int(term.selection.matches(template))
            if code >= 0 and around.counts.sums()[code] > itself:
                yield Violation(
                    self.name,
                    key,
                    name,
                    f"{key} on {name} shares {term.key} with pods that its anti-affinity excludes",
                )
