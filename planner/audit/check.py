"""`check`: what the constraints of a cluster ask for, and what it has.

A constraint may not spread the pods that carry it: its selector misses them, or their node is in no domain.
The API server accepts a constraint whose labelSelector selects other pods only; the scheduler then compares
the domains by those, and the pods that carry the constraint may all come to one domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from models import Cluster
from planner.audit.findings import audit
from planner.audit.spread_counts import AskedRule, asked, spelled, uncounted
from planner.documents.plan import CheckReport, Finding
from planner.problem.nodes import refuse_no_nodes
from planner.problem.problem import Problem
from planner.state.state import State

#: So many pods are named in a note, the others are counted.
_NAMED = 3


def _mismatches(problem: Problem, rules: Iterable[AskedRule]) -> Iterator[Finding]:
    """A finding for every constraint that counts none of the pods that carry it."""
    for one in rules:
        selection = one.rule.counted.selection
        templates = [
            problem.templates[number] for number in one.carriers if not problem.templates[number].terminating
        ]
        selector = selection.selector
        counts = selector is not None and not selector.empty
        if not templates or (counts and any(map(selection.matches, templates))):
            continue
        text = "is missing or empty" if selector is None or selector.empty else f"is {spelled(selector)}"
        constraint = one.rule.constraint
        yield Finding(
            plugin="PodTopologySpread",
            pod=templates[0].pod.key,
            message=f"the {constraint.when_unsatisfiable} constraint over {constraint.topology_key} of "
            f"{one.workload} counts none of its own pods: its labelSelector {text}",
        )


def _outside_all_domains(problem: Problem, state: State, rules: Iterable[AskedRule]) -> Iterator[str]:
    """A note for every constraint with pods on nodes that it does not count, which are in no domain."""
    for one in rules:
        beyond = uncounted(one.rule)
        if not beyond.any():
            continue
        placed = np.flatnonzero((state.node_of >= 0) & np.isin(problem.template_of, one.carriers))
        found = [
            int(pod)
            for pod in placed[beyond[state.node_of[placed]]]
            if not problem.template(int(pod)).terminating
        ]
        if found:
            yield _note(problem, state, one, found)


def _note(problem: Problem, state: State, one: AskedRule, pods: list[int]) -> str:
    names = [
        f"{problem.pods[pod].name} on {problem.nodes.names[state.node_of[pod]]}" for pod in pods[:_NAMED]
    ]
    more = [f"{len(pods) - _NAMED} more"] if len(pods) > _NAMED else []
    plural = "1 pod is" if len(pods) == 1 else f"{len(pods)} pods are"
    return (
        f"{one.workload} of {one.namespace}: {plural} outside all domains of its constraint over "
        f"{one.rule.constraint.topology_key}, and not counted: {', '.join([*names, *more])}"
    )


def check(cluster: Cluster) -> CheckReport:
    """Every spread constraint with its pods per domain, and whatever else is wrong."""
    refuse_no_nodes(cluster.nodes)
    problem = Problem(cluster)
    report, state = audit(problem, problem.node_of), State(problem)
    rules = asked(problem, state)
    mismatches = tuple(_mismatches(problem, rules))
    outside = _outside_all_domains(problem, state, rules)
    return report.model_copy(
        update={
            "kubernetes": problem.kubernetes.document,
            "findings": (*report.findings, *mismatches),
            "violations": report.violations + len(mismatches),
            "notes": (*cluster.notes, *problem.notes, *report.notes, *dict.fromkeys(outside)),
        }
    )
