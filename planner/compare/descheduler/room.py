"""Whether a pod would fit elsewhere, by the few rules that Descheduler looks at.

Cordons, the pod's own affinity to nodes, taints, required anti-affinity to pods on the same node (whatever
the topology key), and requests.  Spread, affinity to pods, ports and volumes are left to the scheduler.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from models.objects.affinity import PodAffinityTerm
from planner.problem.nodes import Mask
from planner.problem.problem import Problem
from planner.problem.selection import Selection
from planner.problem.templates import Template
from planner.state.state import State


class NodeRoom:
    """The nodes that the pods of each template fit on, as things stand when a round begins."""

    def __init__(self, problem: Problem, state: State) -> None:
        self._problem = problem
        self._state = state
        self._nodes_of: dict[int, Mask] = {}

    def elsewhere(self, pod: int, nodes: Mask) -> bool:
        """Whether the pod fits on one of the nodes, other than its own."""
        number, own = int(self._problem.template_of[pod]), int(self._state.node_of[pod])
        if number not in self._nodes_of:
            self._nodes_of[number] = self._fits(self._problem.templates[number])
        found = self._nodes_of[number] & nodes
        return int(np.count_nonzero(found)) > bool(found[own])

    @cached_property
    def _free(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return self._problem.allocatable - self._state.used

    def _fits(self, template: Template) -> Mask:
        problem = self._problem
        asked = np.flatnonzero(template.requests)
        short = self._free[asked] < template.requests[asked, None]
        fits: Mask = ~np.logical_or.reduce(short, axis=0)
        fits &= problem.eligibility.by_affinity(template) & problem.eligibility.by_taints(template)
        fits &= ~problem.nodes.unschedulable
        affinity = template.pod.spec.affinity
        if affinity is not None and affinity.pod_anti_affinity is not None:
            for term in affinity.pod_anti_affinity.required:
                fits &= ~self._holding(template, term)
        return fits

    def _holding(self, template: Template, term: PodAffinityTerm) -> Mask:
        """The nodes with the topology key that hold a pod which the term matches."""
        problem = self._problem
        namespaces = frozenset(term.namespaces or (template.namespace,))
        found = np.zeros(problem.nodes.size, np.bool_)
        for number in problem.labels.matched(Selection(namespaces, term.label_selector)):
            nodes = self._state.node_of[problem.pods_of(number)]
            found[nodes[nodes >= 0]] = True
        return found & (problem.nodes.column(term.topology_key).codes >= 0)
