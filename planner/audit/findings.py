"""Findings: what is wrong with any placement, counted afresh.

Nothing here trusts the engine's running counts: the audited placement is loaded into a state of its
own, so every number is a sum over pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from planner.audit.spread_counts import SpreadCounts, take
from planner.constraints import Violation
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_ports import NodePorts
from planner.constraints.node_resources import NodeResourcesFit
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.constraints.volumes import VolumeBinding
from planner.documents.plan import CheckReport, ConstraintReport, Finding, SpreadChange
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.scheduler.profile import profiles_of, switched_off
from planner.state.state import State

#: Of a constraint with more domains documents say only what changes.
MOST_DOMAINS = 1_000
_RELATIONAL = (NodePorts, NodeResourcesFit, VolumeBinding, InterPodAffinity)


def audit(problem: Problem, node_of: Codes) -> CheckReport:
    """What a placement has to satisfy, and what it has: for each of the problem's pods a node, or -1."""
    state = State(problem, node_of)
    spread = take(problem, state)
    surplus = [amount for found in spread if found.hard for amount in found.surplus.values()]
    findings = tuple(Finding(**found._asdict()) for found in findings_of(problem, state))
    return CheckReport(
        constraints=tuple(map(report_of, spread)),
        findings=findings,
        hard_excess=sum(surplus),
        violations=len(surplus) + len(findings),
        pending=sum(not problem.pods[pod].is_terminating for pod in np.flatnonzero(node_of < 0).tolist()),
        notes=tuple(dict.fromkeys(_without_domains(problem, spread))),
    )


def _without_domains(problem: Problem, spread: Iterable[SpreadCounts]) -> Iterator[str]:
    """A note for every constraint over nodes of which none has all the labels that count one for it.

    Named are those that no node at all has; where each is on some node, all of them.
    """
    profiles = profiles_of(problem.cluster.scheduler_config).items()
    unasked = {name for name, config in profiles if PodTopologySpread in switched_off(config)}
    for found in spread:
        constraint = found.rule.constraint
        if not found.rule.counts.domains.any():
            labels = found.rule.counted.labels or (constraint.topology_key,)
            lacking = [key for key in labels if not problem.nodes.with_keys([key]).any()] or labels
            schedulers = {problem.templates[number].pod.spec.scheduler_name for number in found.carriers}
            means = "keeps its pods pending" if found.hard and schedulers - unasked else "has no effect"
            yield (
                f"{found.workload} of {found.namespace}: no node that counts for it has the "
                f"label{'s' if len(lacking) > 1 else ''} {' and '.join(lacking)}, "
                f"so its {constraint.when_unsatisfiable} constraint {means}"
            )


def findings_of(problem: Problem, state: State) -> Iterator[Violation]:
    """What breaks the rules of the other relational families."""
    for family in _RELATIONAL:
        yield from family(problem, state).violations()


def named(found: SpreadCounts) -> dict[str, Any]:
    """The fields by which documents name a constraint."""
    constraint = found.rule.constraint
    return {
        "namespace": found.namespace,
        "workload": found.workload,
        "topology_key": constraint.topology_key,
        "when_unsatisfiable": constraint.when_unsatisfiable,
        "max_skew": constraint.max_skew,
        "selector": found.selector,
    }


def change_of(before: SpreadCounts | None, after: SpreadCounts) -> SpreadChange:
    """What became of a constraint's pods; it may be new."""
    told = every = after.rule.counts.domains
    if before is not None and np.count_nonzero(every) > MOST_DOMAINS:
        told = after.differing(before)
    return SpreadChange(
        **named(after),
        before={} if before is None else before.named(told),
        after=after.named(told),
        unlisted=np.count_nonzero(every) - np.count_nonzero(told),
        skew_before=0 if before is None else before.skew,
        skew_after=after.skew,
    )


def report_of(found: SpreadCounts) -> ConstraintReport:
    return ConstraintReport(
        **named(found),
        min_domains=found.rule.constraint.min_domains,
        domains=found.domains,
        global_minimum=found.minimum,
        skew=found.skew,
        outside=found.outside,
        excess=dict(found.surplus),
        ok=not found.surplus,
    )
