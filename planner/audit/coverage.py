"""Pods that a spread constraint does not spread: its selector misses them, or their node is in no domain.

The API server accepts a constraint whose labelSelector selects other pods only; the scheduler then compares
the domains by those, and the pods that carry the constraint may all come to one domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from planner.audit.spread_counts import AskedRule, spelled, uncounted
from planner.documents.plan import Finding
from planner.problem.problem import Problem
from planner.state.state import State

#: So many pods are named in a note, the others are counted.
_NAMED = 3


def mismatches(problem: Problem, rules: Iterable[AskedRule]) -> Iterator[Finding]:
    """A finding for every constraint that counts none of the pods that carry it."""
    for asked in rules:
        selection = asked.rule.counted.selection
        templates = [
            problem.templates[number]
            for number in asked.carriers
            if not problem.templates[number].terminating
        ]
        selector = selection.selector
        counts = selector is not None and not selector.empty
        if not templates or (counts and any(map(selection.matches, templates))):
            continue
        text = "is missing or empty" if selector is None or selector.empty else f"is {spelled(selector)}"
        constraint = asked.rule.constraint
        yield Finding(
            plugin="PodTopologySpread",
            pod=templates[0].pod.key,
            message=f"the {constraint.when_unsatisfiable} constraint over {constraint.topology_key} of "
            f"{asked.workload} counts none of its own pods: its labelSelector {text}",
        )


def outside_all_domains(problem: Problem, state: State, rules: Iterable[AskedRule]) -> Iterator[str]:
    """A note for every constraint with pods on nodes that it does not count, which are in no domain."""
    for asked in rules:
        beyond = uncounted(asked.rule)
        if not beyond.any():
            continue
        placed = np.flatnonzero((state.node_of >= 0) & np.isin(problem.template_of, asked.carriers))
        found = [
            int(pod)
            for pod in placed[beyond[state.node_of[placed]]]
            if not problem.template(int(pod)).terminating
        ]
        if found:
            yield _note(problem, state, asked, found)


def _note(problem: Problem, state: State, asked: AskedRule, pods: list[int]) -> str:
    names = [
        f"{problem.pods[pod].name} on {problem.nodes.names[state.node_of[pod]]}" for pod in pods[:_NAMED]
    ]
    more = [f"{len(pods) - _NAMED} more"] if len(pods) > _NAMED else []
    plural = "1 pod is" if len(pods) == 1 else f"{len(pods)} pods are"
    return (
        f"{asked.workload} of {asked.namespace}: {plural} outside all domains of its constraint over "
        f"{asked.rule.constraint.topology_key}, and not counted: {', '.join([*names, *more])}"
    )
