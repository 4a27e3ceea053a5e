"""The plugin: the rules of each template, asked one after the other."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from models.objects.scheduler_config import KubeSchedulerProfile, PodTopologySpreadArgs
from planner.constraints.family import MAX_SCORE, Filter, Rejects, Score, Verdict
from planner.constraints.pod_topology_spread.encoding import encode
from planner.constraints.pod_topology_spread.rule import NO_LABEL, Counted, Floats, Rule
from planner.constraints.pod_topology_spread.wanted import HARD, SOFT, CountedConstraint, Wanted
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import ALL, Codes, Feasible, Ints, Mask, Where
from planner.problem.problem import Problem
from planner.problem.selection import Selection
from planner.problem.templates import Template
from planner.state.pod_counts import PodCounts
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

_REASON = "node(s) didn't match pod topology spread constraints"
_REASON_LABEL = f"{_REASON} (missing required label)"


def _packed(nodes: Mask) -> bytes:
    """Equal for the same nodes, whichever affinity or tolerations leave them; empty for all nodes."""
    return b"" if nodes.all() else np.packbits(nodes).tobytes()


@dataclass(frozen=True, slots=True)
class SpreadRules:
    """All constraints of a template of one kind; soft ones may ask for all labels or not."""

    rules: tuple[Rule, ...]
    labelled: Mask


class PodTopologySpread(Filter, Score):
    """Keeps the skew of DoNotSchedule constraints within bounds and that of soft ones low."""

    name = "PodTopologySpread"
    compares = True

    def __init__(self, problem: Problem, state: State, args: PodTopologySpreadArgs | None = None) -> None:
        super().__init__(problem, state)
        self._wanted = Wanted(problem, args or PodTopologySpreadArgs())
        self._no_rules = SpreadRules((), self.nodes.every)
        # What a rule keeps are sums of domains, seldom as many as nodes, and masks.
        self._hard: ArrayCache[SpreadRules] = ArrayCache(self.nodes.size, part=1 / 4, at_once=True)
        self._soft: ArrayCache[SpreadRules] = ArrayCache(self.nodes.size, part=1 / 4)

    @classmethod
    def of_profile(cls, problem: Problem, state: State, config: KubeSchedulerProfile) -> Self:
        """The plugin with the arguments that a profile gives it."""
        return cls(problem, state, config.args(PodTopologySpreadArgs))

    def asked(self, template: Template) -> tuple[Rule, ...]:
        """What a manifest, or the cluster's configuration, asks for; not kube's built-in defaults."""
        if not self._wanted.spelled_out(template):
            return ()
        return (*self.hard(template), *self.soft(template).rules)

    def hard(self, template: Template) -> tuple[Rule, ...]:
        return self._hard_rules(template).rules

    def _hard_rules(self, template: Template) -> SpreadRules:
        return self._hard.get(template.index, lambda: self._rules(template, HARD, labels=True))

    def never(self, template: Template) -> Mask | None:
        return ~self._hard_rules(template).labelled

    def narrowed(self, template: Template, nodes: Mask) -> Mask | None:
        """Where affinity counts, a constraint sees no domains but those of the nodes."""
        found = [rule.too_full_within(nodes) for rule in self.hard(template)]
        return np.logical_or.reduce(found) if found else None

    def soft(self, template: Template) -> SpreadRules:
        """The ScheduleAnyway constraints of a template."""
        labels = self._wanted.spelled_out(template)
        return self._soft.get(template.index, lambda: self._rules(template, SOFT, labels=labels))

    def soft_rules(self, templates: Iterable[Template]) -> list[Rule]:
        """The distinct ScheduleAnyway constraints that manifests or configurations give some templates."""
        found = (
            rule
            for template in templates
            if self._wanted.spelled_out(template)
            for rule in self.soft(template).rules
        )
        return list({rule.identity: rule for rule in found}.values())

    def _rules(self, template: Template, kind: str, *, labels: bool) -> SpreadRules:
        wanted = self._wanted.of(template, kind)
        if not wanted:
            return self._no_rules
        keys = [constraint.topology_key for constraint, _ in wanted] if labels else []
        labelled = self.nodes.with_keys(keys)
        missing = tuple(sorted(set(keys))) if not labelled.all() else ()
        return SpreadRules(
            tuple(self._rule(template, counted, labelled, missing) for counted in wanted), labelled
        )

    def _rule(
        self, template: Template, found: CountedConstraint, labelled: Mask, keys: tuple[str, ...]
    ) -> Rule:
        constraint, selection = found
        eligible: Mask = labelled
        if constraint.node_affinity_policy == "Honor":
            eligible = eligible & self.problem.eligibility.by_affinity(template)
        if constraint.node_taints_policy == "Honor":
            eligible = eligible & self.problem.eligibility.by_taints(template)
        policies = constraint.node_affinity_policy, constraint.node_taints_policy
        counted = Counted(selection, (*policies, keys, _packed(eligible)), keys)
        column = self.nodes.column(constraint.topology_key)
        counts = self.state.domain_counts(self._tally(selection), column, eligible, counted.eligible)
        return Rule(constraint, counted, selection.matches(template), counts)

    def _tally(self, selection: Selection) -> PodCounts:
        # An empty selector matches every pod but counts none: kube skips the counting.
        counted = selection.selector is not None and not selection.selector.empty
        return self.state.tally(
            (self.name, selection),
            lambda: self.problem.members(selection, terminating=False) if counted else {},
        )

    def reads(self, template: Template) -> Iterator[PodCounts]:
        for rule in (*self.hard(template), *self.soft(template).rules):
            yield rule.tally

    def concerns(self, template: Template) -> bool:
        return bool(self.hard(template))

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        first, *others = (rule.rejects(where) for rule in self.hard(template))
        for codes in others:
            first = first + (first == 0) * codes
        return first

    def admits(self, template: Template, node: int) -> bool:
        return all(rule.admits(node) for rule in self.hard(template))

    def accepts_again(self, template: Template, pods: Codes) -> bool:
        nodes = self.state.node_of[pods]
        return all(rule.holds_again(nodes) for rule in self.hard(template))

    def accepted(self, template: Template, nodes: Codes) -> int:
        return min((rule.accepted(template.index, nodes) for rule in self.hard(template)), default=len(nodes))

    def stamp(self, template: Template) -> Hashable:
        return tuple(rule.stamp() for rule in self.hard(template))

    def watches(self, template: Template) -> Collection[int]:
        return {number for rule in self.hard(template) for number in rule.tally.members}

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        limits = [rule.most(template.index, wanted) for rule in self.hard(template)]
        return np.minimum.reduce(limits) if limits else None

    def tells_apart(self, template: Template) -> Iterator[NDArray[Any]]:
        for rule in self.hard(template):
            yield rule.column.codes
            yield rule.counts.eligible

    def encode(self, x: Counts) -> None:
        """Every constraint once, for all the templates of the batch that carry it."""
        carriers: dict[Hashable, tuple[Rule, list[int]]] = {}
        for number in x.carriers:
            for rule in self.hard(self.problem.templates[number]):
                carriers.setdefault(rule.identity, (rule, []))[1].append(number)
        for rule, templates in carriers.values():
            encode(x, rule, templates)

    def verdict(self, template: Template, code: int) -> Verdict:
        missing = code == NO_LABEL
        return Verdict((_REASON_LABEL if missing else _REASON,), unresolvable=missing)

    def prefers(self, template: Template) -> bool:
        return bool(self.soft(template).rules)

    def score(self, template: Template, feasible: Feasible) -> Ints | None:
        soft = self.soft(template)
        raw: Floats | float = 0.0
        for rule in soft.rules:
            scored, weight = rule.weigh(feasible, soft.labelled)
            raw = raw + rule.cost(weight)
        return _fewest_best(np.floor(raw + 0.5).astype(np.int64), scored)


def _fewest_best(raw: Ints, scored: Feasible) -> Ints:
    """0 to 100, the fewest pods best; nodes that are not scored get 0."""
    if not scored.count:
        return np.zeros_like(raw)
    top = scored.largest(raw)
    if top == 0:
        return scored.only(np.full_like(raw, MAX_SCORE))
    return scored.only(MAX_SCORE * (top + scored.smallest(raw) - raw) // top)
