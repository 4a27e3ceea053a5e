"""Which pods DefaultEvictor lets Descheduler evict, and which of them would fit elsewhere.

Only owners, protections and the policy decide.  Annotations against eviction are not asked, nor whether a
controller really makes a pod again.  The annotation that allows every eviction is not read by the planner.

Where a pod fits depends on cordons, its own affinity to nodes, taints, required anti-affinity to pods on the
same node (whatever the topology key), and requests.  Spread, affinity to pods, ports and volumes are left to
the scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from models.objects.affinity import PodAffinityTerm
from models.objects.pod import Pod
from planner.eviction.budgets import Budgets
from planner.eviction.movable import has_local_storage
from planner.eviction.protections import Protections
from planner.problem.nodes import Mask
from planner.problem.problem import Problem
from planner.problem.selection import Selection
from planner.problem.templates import Template
from planner.state.state import State


class Evictable:
    """For every pod whether DefaultEvictor and the plugin's own selectors let it go."""

    def __init__(self, problem: Problem, protections: Protections, budgets: Budgets) -> None:
        self._rules = protections
        self._budgets = budgets
        self._replicas = Counter(map(_owner, problem.pods)) if protections.min_replicas > 1 else Counter()
        times = (pod.status.start_time or pod.metadata.creation_timestamp for pod in problem.pods)
        self._now = max((time for time in times if time is not None), default=None)
        self.mask: Mask = np.array([self._goes(n, pod) for n, pod in enumerate(problem.pods)], np.bool_)

    def came_again(self, pods: Iterable[int]) -> None:
        """Pods were made again: they are too young for a policy that asks for an age."""
        if self._rules.min_age is not None:
            self.mask[[*pods]] = False

    def _goes(self, number: int, pod: Pod) -> bool:
        rules, owners = self._rules, {owner.kind for owner in pod.metadata.owner_references}
        return not (
            not owners
            or pod.is_mirror
            or pod.is_terminating
            or (rules.daemon_sets and "DaemonSet" in owners)
            or (rules.priority_from is not None and pod.priority >= rules.priority_from)
            or (rules.local_storage and has_local_storage(pod))
            or (rules.claims and any(volume.persistent_volume_claim for volume in pod.spec.volumes))
            or (rules.resource_claims and bool(pod.spec.resource_claims))
            or pod.namespace in rules.excluded
            or (bool(rules.included) and pod.namespace not in rules.included)
            or (rules.selector is not None and not rules.selector.matches(pod.metadata.labels))
            or (rules.without_budget and not self._budgets.of(number))
            or self._is_too_young(pod)
            or self._has_too_few(pod)
        )

    def _is_too_young(self, pod: Pod) -> bool:
        age, started = self._rules.min_age, pod.status.start_time
        return age is not None and (started is None or self._now is None or self._now - started < age)

    def _has_too_few(self, pod: Pod) -> bool:
        """Whether its one owner has fewer pods than the policy asks for."""
        alone = len(pod.metadata.owner_references) == 1
        return (
            self._rules.min_replicas > 1 and alone and self._replicas[_owner(pod)] < self._rules.min_replicas
        )


def _owner(pod: Pod) -> object:
    return pod.namespace, tuple((owner.kind, owner.name) for owner in pod.metadata.owner_references)


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
