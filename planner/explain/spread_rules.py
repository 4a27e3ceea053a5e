"""Topology spread: each constraint by itself, and what would satisfy it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from models.controllers.replicas import HASH_LABEL
from models.objects.affinity import TopologySpreadConstraint
from models.objects.pod import PodSpec
from models.objects.selectors import LabelSelector
from planner.constraints.pod_topology_spread import SOFT, PodTopologySpread, Rule
from planner.constraints.pod_topology_spread.rule import NO_LABEL
from planner.explain.blockers import Blocker, PendingCase
from planner.explain.change import ClusterChange, Cost, SpecEdit
from planner.explain.misspelled import likely_key
from planner.explain.node_rules import label
from planner.explain.room_changes import delete
from planner.problem.nodes import ALL, HOSTNAME

Terms = TopologySpreadConstraint


def rules_of(case: PendingCase) -> list[Rule]:
    """The pod's DoNotSchedule constraints."""
    plugins = case.framework.profile.of(PodTopologySpread)
    return [rule for plugin in plugins for rule in plugin.hard(case.template)]


def constraints(case: PendingCase, plugin: PodTopologySpread) -> Iterator[Blocker]:
    """Every DoNotSchedule constraint: where a label is missing, and where the skew would be too much."""
    for rule in plugin.hard(case.template):
        codes, name = rule.rejects(ALL), plugin.name
        if (codes == NO_LABEL).any():
            meant = "" if rule.column.values else _key_meant(case, rule)
            yield Blocker(name, codes == NO_LABEL, partial(_label, case, rule, meant))
        skews = np.append(rule.counts.sums() + rule.own - rule.minimum(), 0)[rule.column.codes]
        yield Blocker(name, (codes != 0) & (codes != NO_LABEL), partial(_relax, case, rule), skews)


def _key_meant(case: PendingCase, rule: Rule) -> str:
    known = {key for node in case.problem.nodes.nodes for key in node.metadata.labels}
    return likely_key(rule.constraint.topology_key, known)


def _label(case: PendingCase, rule: Rule, meant: str, node: int) -> Iterator[ClusterChange]:
    """Correct the key, put the node into a domain, the emptiest, or drop the constraint."""
    key, name = rule.constraint.topology_key, case.problem.nodes.names[node]
    if meant:
        told = f"did you mean {meant}? No node has the label {key}"
        yield _changed(case, rule, "CorrectValue", Cost.CORRECTION, told, topology_key=meant)
    values = rule.column.values
    sums = rule.counts.sums()
    offers = (
        [name] if key == HOSTNAME else [values[code] for code in np.argsort(sums, kind="stable")[:2].tolist()]
    )
    for more, value in enumerate(offers or ["new"]):
        yield label(name, node, {key: value}, more=more)
    yield _anyway(case, rule)


def _relax(case: PendingCase, rule: Rule, node: int) -> Iterator[ClusterChange]:
    yield from _own_manifest(case, rule, int(rule.column.codes[node]))
    yield from _fewer_pods(case, rule, int(rule.column.codes[node]))


def _own_manifest(case: PendingCase, rule: Rule, domain: int) -> Iterator[ClusterChange]:
    constraint, key = rule.constraint, rule.constraint.topology_key
    changed = partial(_changed, case, rule)
    skew = int(rule.counts.sums()[domain]) + rule.own - rule.minimum()
    cost = Cost.SKEW + min(skew - constraint.max_skew, 30) - 1
    told = f"maxSkew {skew} instead of {constraint.max_skew} for {key}"
    yield changed("RaiseMaxSkew", cost, told, max_skew=skew)
    if constraint.node_taints_policy == "Ignore":
        told = f"nodeTaintsPolicy Honor for {key}"
        yield changed("HonorTaints", Cost.TAINTS_POLICY, told, node_taints_policy="Honor")
    other = "Honor" if constraint.node_affinity_policy == "Ignore" else "Ignore"
    told = f"nodeAffinityPolicy {other} for {key}"
    yield changed("NodeAffinityPolicy", Cost.AFFINITY_POLICY, told, node_affinity_policy=other)
    if rule.few_domains:
        there = int(rule.counts.domains.sum())
        told = f"minDomains {there} instead of {constraint.min_domains} for {key}"
        yield changed("RelaxMinDomains", Cost.MIN_DOMAINS, told, min_domains=there or None)
    yield _anyway(case, rule)


def _anyway(case: PendingCase, rule: Rule) -> ClusterChange:
    told = f"whenUnsatisfiable ScheduleAnyway for {rule.constraint.topology_key}"
    cost = Cost.ANYWAY
    return _changed(case, rule, "ScheduleAnyway", cost, told, when_unsatisfiable=SOFT, min_domains=None)


def dropped(case: PendingCase) -> Iterator[ClusterChange]:
    """Every constraint made soft, whether it is in the way now or will be after another change."""
    for rule in rules_of(case):
        yield _anyway(case, rule)


def _changed(
    case: PendingCase, rule: Rule, action: str, cost: int, summary: str, **terms: object
) -> ClusterChange:
    key = rule.constraint.topology_key
    return ClusterChange(action, cost, summary, subject=key, edit=_edit(case, rule, terms))


def _edit(case: PendingCase, rule: Rule, terms: dict[str, object]) -> SpecEdit:
    """Change one constraint where it stands; the profile's defaults become the pod's own."""
    asked = rule.constraint
    defaults = () if case.template.pod.spec.topology_spread_constraints else _spelled_out(case)

    def edit(spec: PodSpec) -> PodSpec:
        own = spec.topology_spread_constraints or defaults
        changed = tuple(
            item.model_copy(update=terms)
            if (item.topology_key, item.when_unsatisfiable) == (asked.topology_key, asked.when_unsatisfiable)
            else item
            for item in own
        )
        return spec.model_copy(update={"topology_spread_constraints": _merged(changed)})

    return edit


def _merged(constraints: tuple[Terms, ...]) -> tuple[Terms, ...]:
    """Without a second constraint of the same key and kind, which the API server refuses."""
    found: dict[tuple[str, str], Terms] = {}
    for item in constraints:
        found.setdefault((item.topology_key, item.when_unsatisfiable), item)
    return tuple(found.values())


def _spelled_out(case: PendingCase) -> tuple[Terms, ...]:
    """The profile's default constraints as the pod would have to write them."""
    plugins = case.framework.profile.of(PodTopologySpread)
    rules = [
        r for plugin in plugins for r in (*plugin.hard(case.template), *plugin.soft(case.template).rules)
    ]
    return tuple(_as_written(r) for r in rules)


def _as_written(rule: Rule) -> Terms:
    """A default constraint as a template can have it: a revision's hash is no part of its selector."""
    selector = rule.counted.selection.selector
    if selector is None:
        return rule.constraint
    hashed = selector.match_labels.get(HASH_LABEL) is not None or any(
        item.key == HASH_LABEL for item in selector.match_expressions
    )
    kept = LabelSelector(
        match_labels={key: value for key, value in selector.match_labels.items() if key != HASH_LABEL},
        match_expressions=tuple(item for item in selector.match_expressions if item.key != HASH_LABEL),
    )
    keys = (*rule.constraint.match_label_keys, HASH_LABEL) if hashed else rule.constraint.match_label_keys
    return rule.constraint.model_copy(update={"label_selector": kept, "match_label_keys": keys})


def members(case: PendingCase, rule: Rule, domain: int) -> list[int]:
    """The pods that a constraint counts in a domain, the one to give up first first."""
    nodes = (rule.column.codes == domain) & rule.counts.eligible
    return case.pods_on(nodes, lambda number: number in rule.tally.members)


def _fewer_pods(case: PendingCase, rule: Rule, domain: int) -> Iterator[ClusterChange]:
    """Take the surplus out of the domain."""
    surplus = int(rule.counts.sums()[domain]) + rule.own - rule.minimum() - rule.constraint.max_skew
    pods = members(case, rule, domain)
    if 0 < surplus <= min(case.static.effort.most_victims, len(pods)):
        yield delete(case, pods[:surplus])
