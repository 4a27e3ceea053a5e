"""How many replicas of workloads are down before anything moves.

A Terminating pod is down as long as no other one is there for it.  Of a StatefulSet, and of a Job that
replaces only pods that have ended, the other one is made after the end; else at once, and it may not be ready
yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from models.objects.pod import Pod
from planner.audit.spread_counts import Owners
from planner.eviction.controllers import Controllers
from planner.problem.problem import Problem

#: Why no more pods of a workload may go.
DOWN = "of a workload with as many Terminating replicas as may be down"


def replicas_down(problem: Problem) -> Counter[str]:
    """By workload, `namespace Kind/name`, the Terminating replicas for which no other pod is there yet."""
    if not any(template.terminating for template in problem.templates):
        return Counter()
    names, controllers = _workloads(problem), Controllers(problem)
    down, replaced, coming = Counter[str](), Counter[str](), Counter[str]()
    for number, pod in enumerate(problem.pods):
        name = names[problem.template_of[number]]
        if not pod.is_terminating:
            coming[name] += not _is_up(pod)
        elif controllers.is_wanted(number):
            counts = down if controllers.comes_after_the_end(number) else replaced
            counts[name] += 1
    return down + (replaced & coming)


def kept_up(problem: Problem, down: Mapping[str, int], max_unavailable: int = 1) -> dict[int, str]:
    """The pods of workloads of which so many are down already, with that as the reason why they stay."""
    full = {name for name, pods in down.items() if pods >= max_unavailable}
    if not full:
        return {}
    templates = [number for number, name in enumerate(_workloads(problem)) if name in full]
    pods = np.flatnonzero(np.isin(problem.template_of, templates)).tolist()
    return {pod: DOWN for pod in pods if not problem.pods[pod].is_terminating}


def _workloads(problem: Problem) -> list[str]:
    """For every template its workload."""
    owners = Owners(problem.cluster)
    return [f"{template.namespace} {owners.workload(template)}" for template in problem.templates]


def _is_up(pod: Pod) -> bool:
    return bool(pod.node_name) and not (pod.is_starting or pod.is_unready)
