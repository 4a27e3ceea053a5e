"""A cluster with pods that may be moved about: the state, the plugins, the constraints, the accounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from planner.audit.spread_counts import Owners
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.inter_pod_affinity.plugin import Around
from planner.constraints.pod_topology_spread import PodTopologySpread, Rule
from planner.problem.nodes import Codes, Feasible, Ints, Mask
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.rebalance.excess_ledger import Ledger, levels, worse
from planner.scheduler.framework import Framework, Plan
from planner.scheduler.profile import build, profiles_of
from planner.state.pod_counts import DomainCounts
from planner.state.state import State


@dataclass(frozen=True, slots=True)
class Move:
    """A pod leaves a node, and its replacement comes to another."""

    pod: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class _Company:
    """Pods that some others cannot do without, and where those others are."""

    around: Around
    needing: DomainCounts


class TrialCluster:
    """The state of a problem with every plugin's opinion on it, and the ledger of its constraints."""

    def __init__(self, problem: Problem, carriers: Iterable[int] | None = None) -> None:
        """A board over all constraints, or over those of some templates alone."""
        self.problem = problem
        self.state = State(problem)
        self.frameworks = {
            name: Framework(problem, self.state, build(config, problem, self.state))
            for name, config in profiles_of(problem.cluster.scheduler_config).items()
        }
        self.carriers = None if carriers is None else tuple(carriers)
        self.ledger = Ledger(problem, self.state, self.carriers)
        self._domains: dict[int, Codes] = {}

    @cached_property
    def workloads(self) -> list[str]:
        """For every template `namespace Kind/name` of its workload."""
        owners = Owners(self.problem.cluster)
        return [f"{t.namespace} {owners.workload(t)}" for t in self.problem.templates]

    def template(self, pod: int) -> int:
        """The number of a pod's template."""
        return int(self.problem.template_of[pod])

    def framework(self, template: int) -> Framework:
        """The profile that schedules a template."""
        return self.frameworks[self.problem.templates[template].pod.spec.scheduler_name]

    def plan(self, template: int) -> Plan:
        """What is asked about a template."""
        return self.framework(template).plan(self.problem.templates[template])

    def accepts(self, template: int, node: int) -> bool:
        """Whether all filters accept one more pod of a template on a node now."""
        return self.framework(template).fits(self.plan(template), node)

    def accepts_pinned(self, template: int, node: int) -> bool:
        """The same for a pod that may run on that node only: where affinity counts, it is the only domain."""
        for plugin in self.framework(template).profile.filters:
            if isinstance(plugin, PodTopologySpread):
                for rule in plugin.hard(self.problem.templates[template]):
                    asked, there = rule.constraint, int(rule.tally.counts[node])
                    minimum = there if (asked.min_domains or 1) <= 1 else 0
                    if asked.node_affinity_policy == "Honor" and there + rule.own - minimum > asked.max_skew:
                        return False
        return self.accepts(template, node)

    def open_to(self, template: int, pinned: Mask | None = None) -> Mask:
        """The nodes that all filters leave a pod of a template now, or one that is pinned to some nodes.

        A pin hides domains from constraints that honour affinity.  A node that is open only for what the pin
        hides would go against the pod's own spec, so it is left out.
        """
        plan = self.plan(template)
        mask = self.framework(template).feasible(plan).mask
        if pinned is None:
            return mask
        mask = mask & pinned
        for plugin in plan.changing:
            if isinstance(plugin, PodTopologySpread):
                for rule in plugin.hard(plan.template):
                    mask = mask & ~_too_full(rule, pinned)
        return mask

    def choice(self, template: int) -> tuple[Feasible, Ints]:
        """The nodes that the filters leave a template now, and every node's total score."""
        framework, plan = self.framework(template), self.plan(template)
        feasible = framework.feasible(plan)
        if feasible.count <= 1:
            return feasible, np.zeros(self.problem.nodes.size, np.int64)
        return feasible, framework.totals(plan, feasible)

    def first_choice(self, template: int) -> int | None:
        """The node that the scheduler takes whatever the tie-break, if there is one."""
        feasible, totals = self.choice(template)
        if not feasible.count:
            return None
        best = feasible.best(totals)
        ties = int(np.count_nonzero(feasible.mask & (totals == totals[best])))
        return best if ties == 1 else None

    def domains(self, template: int) -> Codes:
        """A number for every node, equal where all constraints with shared domains see the same."""
        found = self._domains.get(template)
        if found is None:
            found = np.zeros(self.problem.nodes.size, np.intp)
            for demand in self.ledger.of(template):
                column = demand.rule.column
                if len(column.values) * 2 <= len(column.codes):
                    found = found * (len(column.values) + 1) + column.codes + 1
                    found = np.unique(found, return_inverse=True)[1].astype(np.intp)
            self._domains[template] = found
        return found

    def make(self, move: Move) -> None:
        """Let a move happen."""
        self.state.unbind(move.pod)
        self.state.bind(move.pod, move.target)

    def attempt(self, move: Move) -> bool:
        """Let a move happen if the filters accept it then, and nothing gets worse by it at any time."""
        template, mark = self.template(move.pod), self.state.mark()
        demands = self.ledger.touched((template,))
        before = levels(demands)
        self.state.unbind(move.pod)
        away = not worse(before, demands) and not self.forsakes(template, move.source)
        if away and self.accepts(template, move.target):
            self.state.bind(move.pod, move.target)
            if not worse(before, demands):
                return True
        self.state.rollback(mark)
        return False

    def forsakes(self, template: int, node: int) -> bool:
        """Whether pods on their own need the company of one that has just left a node."""
        return any(
            template in company.around.counts.tally.members and _is_alone(company, node)
            for company in self._company
        )

    @cached_property
    def _company(self) -> list[_Company]:
        return [company for template in self.problem.templates for company in self._needs(template)]

    def _needs(self, template: Template) -> Iterator[_Company]:
        framework = self.frameworks.get(template.pod.spec.scheduler_name)
        if framework is None or template.terminating or template.pod.spec.affinity is None:
            return
        for plugin in framework.profile.filters:
            if isinstance(plugin, InterPodAffinity):
                number = template.index
                tally = self.state.tally(("rebalance", (number,)), partial(_once, number))
                for around in plugin.rules(template).needs:
                    yield _Company(around, self.state.domain_counts(tally, around.column))


def _too_full(rule: Rule, pinned: Mask) -> Mask:
    """The nodes that a constraint refuses a pinned pod: where affinity counts, it sees no other nodes."""
    counts, asked = rule.counts, rule.constraint
    inside = counts.eligible & (pinned if asked.node_affinity_policy == "Honor" else True)
    codes, size = rule.column.codes[inside], len(rule.column.values)
    sums = np.bincount(codes, weights=rule.tally.counts[inside], minlength=size).astype(np.int64)
    seen = np.unique(codes)
    few = len(seen) < (asked.min_domains or 1)
    minimum = 0 if few or not seen.size else int(sums[seen].min())
    found: Mask = np.append(sums + rule.own - minimum > asked.max_skew, True)[rule.column.codes]
    return found


def _is_alone(company: _Company, node: int) -> bool:
    domain = company.around.column.codes[node]
    if domain < 0:
        return False
    return bool(company.around.counts.sums()[domain] == 0 and company.needing.sums()[domain] > 0)


def _once(template: int) -> dict[int, int]:
    """The pods of one template, as tally members."""
    return {template: 1}
