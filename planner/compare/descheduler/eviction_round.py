"""One run of Descheduler: which pods it evicts from a cluster as it is.

For every constraint by itself pods are chosen; a pod that two constraints chose is evicted once.  What
the API server and the policy's limits refuse stays.  Go's maps decide about the order of equal domains and
pods, and of evictions: here that is a draw, or the order of names without a seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np

from models.objects.descheduler import DefaultEvictorArgs, DeschedulerPolicy, TopologySpreadArgs
from planner.compare.descheduler.domains import (
    Constraint,
    constraints,
    domains,
    given,
    is_balanced,
)
from planner.compare.descheduler.evictable import Evictable, NodeRoom
from planner.eviction.budgets import Budgets
from planner.eviction.protections import Protections
from planner.problem.nodes import Mask
from planner.problem.problem import Problem
from planner.state.state import State


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
