"""How a state is spread: the pods of every constraint per domain, and what is too much.

A constraint counts once for each namespace, workload and distinct set of terms, however many
templates carry it.  What gets better elsewhere makes up for none that is more broken than before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import Any

import numpy as np

from models.cluster import Cluster
from models.objects.pod import Pod
from models.objects.selectors import LabelSelector
from planner.constraints.pod_topology_spread import HARD, PodTopologySpread, Rule
from planner.documents.plan import WorseConstraint
from planner.problem.nodes import Codes, Ints, Mask
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.scheduler.profile import profiles_of
from planner.state.state import State


@dataclass(frozen=True, slots=True)
class AskedRule:
    """One constraint, its workload, and the templates that carry it."""

    namespace: str
    workload: str
    rule: Rule
    carriers: tuple[int, ...]

    @property
    def hard(self) -> bool:
        """Whether the constraint can keep a pod from being scheduled."""
        return self.rule.constraint.when_unsatisfiable == HARD

    @property
    def identity(self) -> Hashable:
        """What tells this constraint from others, whatever the counts."""
        return self.namespace, self.workload, self.rule.identity


@dataclass(frozen=True, slots=True)
class SpreadCounts(AskedRule):
    """Such a constraint with its pods: per domain, the global minimum, and the surplus of each domain."""

    counts: Ints
    minimum: int
    surplus: Mapping[str, int]
    outside: int = 0
    """How many pods with the constraint are on nodes that it does not count."""

    @property
    def domains(self) -> dict[str, int]:
        return self.named(self.rule.counts.domains)

    def named(self, chosen: Mask) -> dict[str, int]:
        """The pods of some domains by their names."""
        order, values = self.rule.column.by_name
        counted = chosen[order]
        names = values if counted.all() else compress(values, counted.tolist())
        return dict(zip(names, self.counts[order][counted].tolist(), strict=True))

    def differing(self, other: SpreadCounts) -> Mask:
        """The domains of the same constraint that have more or fewer pods in another state."""
        differ: Mask = (self.counts != other.counts) & self.rule.counts.domains
        return differ

    @property
    def skew(self) -> int:
        """How far the fullest domain is above the global minimum."""
        return int(self.counts[self.rule.counts.domains].max(initial=self.minimum)) - self.minimum

    @property
    def selector(self) -> str:
        """The pods that are counted, as a user would write the selector on the command line."""
        selector = self.rule.counted.selection.selector
        return "" if selector is None else spelled(selector)


def take(
    problem: Problem, state: State, templates: Iterable[Template] | None = None, *, live: Codes | None = None
) -> list[SpreadCounts]:
    """The counts of every constraint that some pod, placed or pending, carries; or some templates alone.

    Too much is what breaks the constraint of a pod with a node in `live`: by default all that are placed.
    """
    held = _held_domains(problem, state.node_of if live is None else live)
    return [
        _counts_of(found, [held[number] for number in found.carriers])
        for found in asked(problem, state, templates)
    ]


def asked(problem: Problem, state: State, templates: Iterable[Template] | None = None) -> list[AskedRule]:
    """Every constraint once for each workload that asks for it, or of some templates alone."""
    owners = Owners(problem.cluster)
    found: dict[Hashable, tuple[Template, Rule, list[int]]] = {}
    for template, rule in _rules(problem, state, problem.templates if templates is None else templates):
        key = (template.namespace, owners.of(template.pod), rule.identity)
        found.setdefault(key, (template, rule, []))[2].append(template.index)
    return [
        AskedRule(template.namespace, owners.of(template.pod), rule, tuple(carriers))
        for template, rule, carriers in found.values()
    ]


def _rules(problem: Problem, state: State, templates: Iterable[Template]) -> Iterator[tuple[Template, Rule]]:
    """The templates, each with every constraint that it, or a configured default, asks for."""
    profiles = profiles_of(problem.cluster.scheduler_config)
    families = {
        name: PodTopologySpread.of_profile(problem, state, config) for name, config in profiles.items()
    }
    default = next(iter(families.values()))
    for template in templates:
        family = families.get(template.pod.spec.scheduler_name, default)
        for rule in family.asked(template):
            yield template, rule


def _held_domains(problem: Problem, node_of: Codes) -> list[Codes]:
    """For every template, the nodes that hold a live pod of it."""
    placed = np.flatnonzero(node_of >= 0)
    order = placed[np.argsort(problem.template_of[placed], kind="stable")]
    edges = np.searchsorted(problem.template_of[order], np.arange(len(problem.templates) + 1))
    return [
        np.empty(0, np.intp) if problem.templates[number].terminating else node_of[order[start:end]]
        for number, (start, end) in enumerate(pairwise(edges))
    ]


def _counts_of(asked: AskedRule, nodes: Iterable[Codes]) -> SpreadCounts:
    rule = asked.rule
    sums, minimum = rule.counts.sums().copy(), rule.minimum()
    values = rule.column.values
    placed = np.concatenate([*nodes, np.empty(0, np.intp)])
    held = np.unique(rule.column.codes[placed])
    over = rule.surplus()[held[held >= 0]]
    surplus = zip(held[held >= 0][over > 0].tolist(), over[over > 0].tolist(), strict=True)
    return SpreadCounts(
        asked.namespace,
        asked.workload,
        rule,
        asked.carriers,
        sums,
        minimum,
        dict(sorted((values[code], amount) for code, amount in surplus)),
        int(np.count_nonzero(uncounted(rule)[placed])),
    )


def too_much(surpluses: Iterable[tuple[bool, Mapping[str, int]]]) -> dict[str, Any]:
    """What constraints, each hard or not, have too much by domain, in the figures of documents."""
    found = [(hard, pods) for hard, surplus in surpluses for pods in surplus.values()]
    hard = [pods for is_hard, pods in found if is_hard]
    soft = [pods for is_hard, pods in found if not is_hard]
    return {"hard_violations": len(hard), "hard_excess": sum(hard), "soft_excess": sum(soft)}


def uncounted(rule: Rule) -> Mask:
    """The nodes whose pods a constraint does not count: without a label, or left out by a policy of it."""
    return ~(rule.counts.eligible & rule.column.present)


class Owners:
    """The owner of a pod as a user sees it: the Deployment behind its ReplicaSet."""

    def __init__(self, cluster: Cluster) -> None:
        self._above = {
            ("ReplicaSet", found.key): found.metadata.controller for found in cluster.replica_sets
        } | {("Job", found.key): found.metadata.controller for found in cluster.jobs}

    def of(self, pod: Pod) -> str:
        """`Kind/name` of the workload, or of the pod itself when nothing owns it."""
        owner = pod.metadata.controller
        if owner is None:
            return f"Pod/{pod.name}"
        above = self._above.get((owner.kind, f"{pod.namespace}/{owner.name}")) or owner
        return f"{above.kind}/{above.name}"


def workload_names(problem: Problem) -> list[str]:
    """For every template `namespace Kind/name` of its workload."""
    owners = Owners(problem.cluster)
    return [f"{template.namespace} {owners.of(template.pod)}" for template in problem.templates]


def spelled(selector: LabelSelector) -> str:
    """A label selector in kubectl's notation."""
    return ",".join(spelled_requirement(*requirement) for requirement in selector.requirements)


def spelled_requirement(key: str, operator: str, values: tuple[str, ...]) -> str:
    """One requirement of a selector, or of a node affinity, in kubectl's notation."""
    match operator:
        case "In" if len(values) == 1:
            return f"{key}={values[0]}"
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return f"{key} {operator.lower()} ({','.join(values)})"


#: Constraints of a workload over a key: its namespace, its name, and the key.
WorkloadConstraint = tuple[str, str, str]
#: A constraint, and how many pods it has too many.
Surplus = tuple[WorkloadConstraint, int]


def surpluses_of(counts: Iterable[SpreadCounts]) -> Iterator[Surplus]:
    """What each hard constraint has too much."""
    for item in counts:
        if item.hard:
            key = item.rule.constraint.topology_key
            yield (item.namespace, item.workload, key), sum(item.surplus.values())


def worse_constraints(before: Iterable[Surplus], after: Iterable[Surplus]) -> Iterator[WorseConstraint]:
    """The constraints of a workload over a key that have more too many together, by name."""
    had, have = summed(before), summed(after)
    for (namespace, workload, key), pods in sorted(have.items()):
        if pods > had[namespace, workload, key]:
            yield WorseConstraint(
                namespace=namespace,
                workload=workload,
                topology_key=key,
                excess_before=had[namespace, workload, key],
                excess_after=pods,
            )


def summed(several: Iterable[Surplus]) -> Counter[WorkloadConstraint]:
    """What the constraints of a workload over a key have too much together."""
    found = Counter[WorkloadConstraint]()
    for whose, pods in several:
        found[whose] += pods
    return found
