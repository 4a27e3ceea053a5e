"""Pods that wait for room preemption made: others must leave that room alone.

Kubernetes 1.34: when a node is filtered for a pod, the pods nominated to it with the same or a higher
priority are counted as if they were there already, and the pod must fit with and without them.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from planner.problem.nodes import Feasible
from planner.problem.problem import Problem
from planner.scheduler.framework import Diagnosis, Framework, Plan, Rejection
from planner.state.state import State


class Nominations:
    """Which pending pods are promised which node."""

    def __init__(self, problem: Problem, state: State) -> None:
        self._problem = problem
        self._state = state
        self._node_of: dict[int, int] = {}
        self._waiting: dict[int, list[int]] = defaultdict(list)
        self.changes = 0

    def __len__(self) -> int:
        """How many pods are promised a node."""
        return len(self._node_of)

    def restore(self, pod: int) -> None:
        """Take over the nomination that the snapshot shows."""
        name = self._problem.pods[pod].status.nominated_node_name
        node = self._problem.nodes.index.get(name) if name else None
        if node is not None:
            self.nominate(pod, node)

    def nominate(self, pod: int, node: int) -> None:
        self.withdraw(pod)
        self.changes += 1
        self._node_of[pod] = node
        self._waiting[node].append(pod)

    def withdraw(self, pod: int) -> None:
        node = self._node_of.pop(pod, None)
        if node is not None:
            self.changes += 1
            self._waiting[node].remove(pod)
            if not self._waiting[node]:
                del self._waiting[node]

    def withdraw_below(self, node: int, priority: int) -> None:
        """Forget the promises of a node to pods of lower priority."""
        for pod in [p for p in self._waiting.get(node, ()) if self._problem.pods[p].priority < priority]:
            self.withdraw(pod)

    def node_of(self, pod: int) -> int | None:
        return self._node_of.get(pod)

    def _ahead(self, pod: int, node: int) -> list[int]:
        """The pods promised a node that another pod has to respect there."""
        priority = self._problem.pods[pod].priority
        return [
            other
            for other in self._waiting.get(node, ())
            if other != pod and self._problem.pods[other].priority >= priority
        ]

    def contested(self, pod: int) -> list[int]:
        """The nodes at which a pod has to respect others."""
        return [node for node in self._waiting if self._ahead(pod, node)]

    def rejection(self, framework: Framework, plan: Plan, pod: int, node: int) -> Rejection | None:
        """Which plugin refuses a node to a pod, pods promised it counted first as present, then as absent."""
        ahead = self._ahead(pod, node)
        if ahead:
            mark = self._state.mark()
            for other in ahead:
                self._state.bind(other, node)
            refused = framework.rejection(plan, node)
            self._state.rollback(mark)
            if refused is not None:
                return refused
        return framework.rejection(plan, node)

    def fits(self, framework: Framework, plan: Plan, pod: int, node: int) -> bool:
        """Whether a node takes a pod, those promised it respected."""
        return plan.refusal is None and self.rejection(framework, plan, pod, node) is None

    def restrict(self, framework: Framework, plan: Plan, pod: int, feasible: Feasible) -> Feasible:
        """The feasible nodes less those that would break a promise."""
        if not self._waiting:
            return feasible
        kept = feasible.mask.copy()
        for node in self._waiting:
            if kept[node] and self._ahead(pod, node):
                kept[node] = self.fits(framework, plan, pod, node)
        return Feasible(kept)

    def diagnose(self, framework: Framework, plan: Plan, pod: int) -> Diagnosis:
        """Every node's first refusal, promises respected."""
        diagnosis = framework.diagnose(plan)
        if not self._waiting or diagnosis.refusal is not None:
            return diagnosis
        first, rejections = diagnosis.first.copy(), list(diagnosis.rejections)
        for node in self._waiting:
            if self._ahead(pod, node):
                refused = self.rejection(framework, plan, pod, node)
                first[node] = -1 if refused is None else len(rejections)
                rejections.extend([] if refused is None else [refused])
        return Diagnosis(diagnosis.nodes, None, tuple(rejections), np.asarray(first))
