"""The constraints of a cluster as Descheduler reads them, and their pods per domain.

It looks only at pods that it may evict, so the others neither bring a constraint nor are counted.
minDomains plays no part.  A pod is counted wherever its node has the topology key; only empty domains are
subject to the inclusion policies.

Domains are taken in order of size, the smallest against the largest.  While they differ by more than
maxSkew, the larger gives the smaller as many pods as bring them within maxSkew, but no more than bring
either past the average.  Where the pods will really go is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.problem.nodes import Codes, Mask
from planner.problem.problem import Problem
from planner.problem.selection import Selection
from planner.problem.templates import Template


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint of a namespace; equal ones of several workloads are one."""

    identity: Hashable
    max_skew: int
    topology_key: str
    selection: Selection = field(compare=False)
    eligible: Mask = field(compare=False)
    """The nodes whose domains count although they are empty, and on which pods may land."""


def constraints(problem: Problem, pods: Codes, kinds: Collection[str], ready: Mask) -> list[Constraint]:
    """The distinct constraints of some pods, in the order of their templates."""
    found: dict[Hashable, Constraint] = {}
    for number in np.unique(problem.template_of[pods]).tolist():
        for constraint in _of(problem, problem.templates[number], kinds, ready):
            found.setdefault(constraint.identity, constraint)
    return list(found.values())


def _of(problem: Problem, template: Template, kinds: Collection[str], ready: Mask) -> Iterator[Constraint]:
    for asked in template.pod.spec.topology_spread_constraints:
        if asked.when_unsatisfiable not in kinds:
            continue
        selector = asked.label_selector
        if selector is not None:
            selector = selector.with_own_labels(template.labels, asked.match_label_keys)
        selection = Selection(frozenset((template.namespace,)), selector)
        eligible, policies = ready, []
        if asked.node_affinity_policy == "Honor":
            eligible = eligible & problem.eligibility.by_affinity(template)
            policies.append(("affinity", template.eligibility))
        if asked.node_taints_policy == "Honor":
            eligible = eligible & problem.eligibility.by_taints(template)
            policies.append(("taints", template.tolerations))
        identity = (template.namespace, asked.max_skew, asked.topology_key, selection.identity, *policies)
        yield Constraint(identity, asked.max_skew, asked.topology_key, selection, eligible)


def domains(problem: Problem, constraint: Constraint, node_of: Codes, taken: Mask) -> dict[int, list[int]]:
    """The pods of every domain, among those that are taken into account."""
    codes = problem.nodes.column(constraint.topology_key).codes
    found: dict[int, list[int]] = {
        code: [] for code in np.unique(codes[constraint.eligible]).tolist() if code >= 0
    }
    members = [*problem.labels.matched(constraint.selection)]
    pods = np.concatenate([np.empty(0, np.intp), *(problem.pods_of(number) for number in members)])
    pods = np.sort(pods[taken[pods]])
    for pod, code in zip(pods.tolist(), codes[node_of[pods]].tolist(), strict=True):
        if code >= 0:
            found.setdefault(code, []).append(pod)
    return found


def is_balanced(sizes: Collection[int], max_skew: int) -> bool:
    """Whether no two domains differ by more than maxSkew."""
    return not sizes or max(sizes) - min(sizes) <= max_skew


def given(domains: Sequence[list[int]], max_skew: int, fits: Callable[[int], bool]) -> Iterator[int]:
    """The pods that domains give, which fit elsewhere or not; domains ascend by size, and are changed.

    Pods at the end of a domain go first, those that fit elsewhere before the others.
    """
    average = sum(map(len, domains)) / len(domains)
    low, high = 0, len(domains) - 1
    while low < high:
        if len(domains[high]) <= average:
            high -= 1
        few, most = len(domains[low]), len(domains[high])
        # Where that is not positive it gives none.
        many = math.ceil(min(most - average, average - few, (most - few - max_skew) / 2))
        if many <= 0:
            low += 1
            continue
        domains[high].sort(key=fits)
        going = domains[high][-many:]
        yield from going
        del domains[high][-many:]
        domains[low] += going
