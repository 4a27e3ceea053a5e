"""Binds that the filters refuse once the pod may run on that one node only, as the script of a plan has it.

A spread constraint that honours node affinity sees no domain but that of the node.  With minDomains that is
too few: the global minimum is 0, and the node is refused where maxSkew pods are counted there already.
A profile without the NodeAffinity filter does not heed the narrowing at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from models import Cluster
from planner.batch.pending import Pending
from planner.documents.plan import PlanStep
from planner.problem.problem import Problem


def refused_when_narrowed(cluster: Cluster, steps: Sequence[PlanStep]) -> Iterator[PlanStep]:
    """Those of a plan's binds that do not come about where the pod is narrowed to its node."""
    problem = Problem(cluster)
    pending = Pending(problem)
    number_of = {pod.key: number for number, pod in enumerate(problem.pods)}
    for step in steps:
        pod = number_of[step.pod]
        if step.node is None:
            pending.state.unbind(pod)
            continue
        node = problem.nodes.index[step.node]
        if _refuses(pending, int(problem.template_of[pod]), node):
            yield step
        pending.state.bind(pod, node)


def _refuses(pending: Pending, number: int, node: int) -> bool:
    """Whether narrowing a pod of a template to the node does not bring it there."""
    if not pending.framework(number).profile.heeds_affinity:
        return True
    only, plan = pending.problem.nodes.only(node), pending.plan(number)
    refusals = (plugin.narrowed(plan.template, only) for plugin in plan.changing)
    return any(refused is not None and bool(refused[node]) for refused in refusals)
