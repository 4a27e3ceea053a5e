"""One run of Descheduler: which pods it evicts from a cluster as it is.

For every constraint by itself pods are chosen; a pod that two constraints chose is evicted once.  What
the API server and the policy's limits refuse stays.  Go's maps decide about the order of equal domains and
pods, and of evictions: here that is a draw, or the order of names without a seed.

Descheduler looks only at pods that it may evict, so the others neither bring a constraint nor are counted.
minDomains plays no part.  A pod is counted wherever its node has the topology key; only empty domains are
subject to the inclusion policies.

Domains are taken in order of size, the smallest against the largest.  While they differ by more than
maxSkew, the larger gives the smaller as many pods as bring them within maxSkew, but no more than bring
either past the average.  Where the pods will really go is not asked.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from models.objects.descheduler import DefaultEvictorArgs, DeschedulerPolicy, TopologySpreadArgs
from planner.compare.descheduler.evictable import Evictable, NodeRoom
from planner.eviction.budgets import Budgets
from planner.eviction.protections import Protections
from planner.problem.nodes import Codes, Mask
from planner.problem.problem import Problem
from planner.problem.selection import Selection
from planner.problem.templates import Template
from planner.state.state import State


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


class Descheduler:
    """The plugin with its policy; each round looks at the state anew."""

    def __init__(
        self, problem: Problem, protections: Protections, budgets: Budgets, seed: int | None
    ) -> None:
        policy = problem.cluster.descheduler_policy or DeschedulerPolicy()
        self._problem = problem
        self._protections = protections
        self._budgets = budgets
        self.evictable = Evictable(problem, protections, budgets)
        self._looks_for_room = policy.args(TopologySpreadArgs).topology_balance_node_fit
        self._needs_room = policy.args(DefaultEvictorArgs).node_fit
        self._random = None if seed is None else random.Random(f"descheduler {seed}")
        self._ready = _ready(problem)

    def evictions(self, state: State) -> list[int]:
        """The pods that a round evicts, in their order."""
        room = NodeRoom(self._problem, state)
        chosen = [*self._chosen(state, room)]
        self._shuffle(chosen)
        if self._needs_room:
            chosen = [pod for pod in chosen if room.elsewhere(pod, self._ready)]
        return [*self._granted(chosen, state)]

    def _chosen(self, state: State, room: NodeRoom) -> dict[int, None]:
        """The pods that are too many for some constraint."""
        problem = self._problem
        there = state.node_of >= 0
        taken = there & self.evictable.mask
        taken[there] &= self._ready[state.node_of[there]]
        pods = np.flatnonzero(taken)
        found: dict[int, None] = {}
        for constraint in constraints(problem, pods, self._protections.kinds, self._ready):
            held = domains(problem, constraint, state.node_of, taken)
            if not is_balanced([len(several) for several in held.values()], constraint.max_skew):
                found |= dict.fromkeys(self._given(constraint, held, room))
        return found

    def _given(self, constraint: Constraint, held: dict[int, list[int]], room: NodeRoom) -> Iterator[int]:
        """The pods that the constraint's domains give, and that fit where there are few."""
        average = sum(map(len, held.values())) / len(held)
        few = [code for code, pods in held.items() if len(pods) < average]
        codes = self._problem.nodes.column(constraint.topology_key).codes
        below = constraint.eligible & np.isin(codes, few)
        fits = {pod: room.elsewhere(pod, below) for pods in held.values() for pod in pods}
        found = list(held.values())
        self._shuffle(found)
        for pods in found:
            pods.sort(key=lambda pod: self._problem.pods[pod].name)
            self._shuffle(pods)
            pods.sort(key=self._rank)
        for pod in given(sorted(found, key=len), constraint.max_skew, fits.__getitem__):
            if fits[pod] or not self._looks_for_room:
                yield pod

    def _rank(self, pod: int) -> tuple[bool, int]:
        """Pods that name no nodes go before those that do; of these the highest priority goes first."""
        found = self._problem.pods[pod]
        names_nodes = bool(found.spec.node_selector) or found.spec.node_affinity is not None
        return not names_nodes, found.priority

    def _granted(self, chosen: list[int], state: State) -> Iterator[int]:
        """The evictions within the limits of the policy and of the budgets."""
        rules, allowed = self._protections, [*self._budgets.allowed]
        per_node, per_namespace, total = Counter[int](), Counter[str](), 0
        for pod in chosen:
            node, namespace = int(state.node_of[pod]), self._problem.pods[pod].namespace
            if _is_full(total, rules.most):
                return
            if _is_full(per_node[node], rules.most_per_node):
                continue
            if _is_full(per_namespace[namespace], rules.most_per_namespace):
                continue
            asked = self._budgets.asked(pod)
            if len(asked) > 1 or any(allowed[number] < 1 for number in asked):
                continue
            for number in asked:
                allowed[number] -= 1
            per_node[node] += 1
            per_namespace[namespace] += 1
            total += 1
            yield pod

    def _shuffle(self, items: list[int] | list[list[int]]) -> None:
        if self._random is not None:
            self._random.shuffle(items)


def _is_full(done: int, most: int | None) -> bool:
    return most is not None and done >= most


def _ready(problem: Problem) -> Mask:
    """The nodes that Descheduler looks at: those that do not say that they are not ready."""
    return np.array(
        [
            all(found.status == "True" for found in node.status.conditions if found.type == "Ready")
            for node in problem.nodes.nodes
        ],
        np.bool_,
    )
