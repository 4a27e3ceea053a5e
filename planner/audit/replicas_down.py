"""How many replicas of workloads are down, and stay so, before anything moves.

Of a StatefulSet, and of a Job that replaces only pods that have ended, another pod is made after the end of a
Terminating one.  Where that cannot end the replica is down for good; others are so for seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from planner.audit.spread_counts import workload_names
from planner.eviction.controllers import Controllers
from planner.problem.problem import Problem

#: Why no more pods of a workload may go.
DOWN = "of a workload with as many replicas that cannot end as may be down"


@dataclass(frozen=True, slots=True)
class ReplicaLimit:
    """How many replicas of a workload may be down; by workload, `down` are so from the start and stay so."""

    most: int = 1
    down: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem, most: int) -> ReplicaLimit:
        return cls(most, replicas_down(problem))

    def at_once(self, workload: str) -> int:
        """How many pods of a workload may be away at once, beside those that are down from the start."""
        return max(1, self.most - self.down.get(workload, 0))

    def kept_up(self, problem: Problem) -> dict[int, str]:
        """The pods of workloads of which so many are down already, with that as the reason why they stay."""
        full = {name for name, pods in self.down.items() if pods >= self.most}
        if not full:
            return {}
        templates = [number for number, name in enumerate(workload_names(problem)) if name in full]
        pods = np.flatnonzero(np.isin(problem.template_of, templates)).tolist()
        return {pod: DOWN for pod in pods if not problem.pods[pod].is_terminating}


def replicas_down(problem: Problem) -> Counter[str]:
    """By workload, `namespace Kind/name`, the Terminating replicas that cannot end, and have no successor."""
    stuck = [pod for pod in problem.endings.terminating if problem.endings.why_not(pod)]
    if not stuck:
        return Counter()
    names, controllers = workload_names(problem), Controllers(problem)
    return Counter(
        names[problem.template_of[pod]]
        for pod in stuck
        if controllers.is_wanted(pod) and controllers.comes_after_the_end(pod)
    )
