"""Whether a placement stands: every pod that came would be accepted where it is, as if it came last.

Judged beside all others, by its own profile, and by what nodes have whatever that profile leaves out.  Of the
pods that stayed required affinity and anti-affinity is as well kept as before.  Their spread constraints are
not judged again, as kube-scheduler does not; what breaks for them is a note.  All is counted afresh.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import numpy as np

from planner.audit.spread_counts import SpreadCounts, take
from planner.constraints import OF_NODES, Filter, Violation
from planner.constraints.dynamic_resources import DynamicResources
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.constraints.volumes import NodeVolumeLimits, VolumeBinding
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.scheduler.profile import make_filters, profiles_of, switched_off
from planner.state.state import State

_OF_PODS: frozenset[type[Filter]] = frozenset({PodTopologySpread, InterPodAffinity, DynamicResources})


def stands(problem: Problem, node_of: Codes) -> bool:
    """Whether pods that came or moved keep their constraints, and break no affinity of those that stayed."""
    moved = node_of != problem.node_of
    came, stayed = np.where(moved, node_of, -1), np.where(moved, -1, node_of)
    asked, state = _Asked(problem), State(problem, node_of)
    filters = asked.filters(state)
    for number in np.unique(problem.template_of[came >= 0]).tolist():
        template, pods = problem.templates[number], problem.pods_of(number)
        here = pods[came[pods] >= 0]
        if not all(one.accepts_again(template, here) for one in filters[asked.name(template)]):
            return False
    # Pods that share volumes may bring some that a node cannot attach: beside each other none is new.
    attached = NodeVolumeLimits(problem, state) if problem.cluster.csi_nodes else None
    if attached is not None and attached.is_overattached(NodeVolumeLimits(problem, State(problem))):
        return False
    if _lacks_volumes(problem, state, came):
        return False
    apart = {*asked.apart(state, stayed)}
    return not apart or apart <= {*asked.apart(State(problem), stayed)}


def broken_for_running(problem: Problem, node_of: Codes) -> Iterator[str]:
    """A note for each hard spread constraint that has pods too many for those that stayed since the plan."""
    asked, stayed = _Asked(problem), np.where(node_of != problem.node_of, -1, node_of)
    if broken := asked.too_full(State(problem, node_of), stayed):
        known = asked.too_full(State(problem), stayed)
        for identity, found in broken.items():
            if not found.surplus.keys() <= (known[identity].surplus.keys() if identity in known else set()):
                yield (
                    f"{found.workload} of {found.namespace}: a DoNotSchedule constraint over "
                    f"{found.rule.constraint.topology_key} that holds for running pods does not after this "
                    "plan; kube-scheduler does not judge it again, `check` counts it"
                )


class _Asked:
    """What is asked of each template: the filters of its profile, of the first one where it has none."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._configs = profiles_of(problem.cluster.scheduler_config)
        self._off = {name: switched_off(config) for name, config in self._configs.items()}
        self._first = next(iter(self._configs))
        self._spread = [t for t in problem.templates if self._runs(t, PodTopologySpread)]

    def name(self, template: Template) -> str:
        """The scheduler whose profile counts for a template."""
        name = template.pod.spec.scheduler_name
        return name if name in self._configs else self._first

    def _runs(self, template: Template, kind: type[Filter]) -> bool:
        return kind not in self._off[self.name(template)]

    def filters(self, state: State) -> Mapping[str, tuple[Filter, ...]]:
        """By scheduler name the filters about what nodes have, and of those about other pods its own.

        Volumes that nodes attach are counted once for all pods.
        """
        return {
            name: make_filters(
                [*(OF_NODES - {NodeVolumeLimits}), *(_OF_PODS - {*self._off[name]})],
                config,
                self._problem,
                state,
            )
            for name, config in self._configs.items()
        }

    def too_full(self, state: State, placed: Codes) -> dict[Hashable, SpreadCounts]:
        """The hard spread constraints with too many pods in the domain of a placed one that has it."""
        counts = take(self._problem, state, self._spread, live=placed)
        return {found.identity: found for found in counts if found.hard and found.surplus}

    def apart(self, state: State, placed: Codes) -> Iterator[Violation]:
        """The pods apart from those that they need, or beside those that they exclude."""
        pods = {self._problem.pods[pod].key: pod for pod in np.flatnonzero(placed >= 0).tolist()}
        for found in InterPodAffinity(self._problem, state).violations():
            if (pod := pods.get(found.pod)) is not None:
                template = self._problem.template(pod)
                if self._runs(template, InterPodAffinity) and not template.terminating:
                    yield found


def _lacks_volumes(problem: Problem, state: State, came: Codes) -> bool:
    """Whether claims of pods that came wait for the same volumes, more of them than there are."""
    with_volumes = [template.index for template in problem.templates if template.pod.spec.volumes]
    pods = [pod for pod in state.placed(with_volumes) if came[pod] >= 0]
    return bool(pods) and not VolumeBinding(problem, state).serves(np.array(pods, np.intp))
