"""One workload: replica after replica until one stays without a node, or in bulk where that is the same.

Replicas that are alike count as the same each, so how many a quota admits is a division.  The API server is
asked for them after all pods that wait, which are admitted as they are without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from models.admission.chain import is_new
from planner.capacity.room import in_any_order
from planner.problem.creation_order import awaited
from planner.problem.problem import Problem
from planner.problem.quotas import Quotas, is_about_quota, refusals
from planner.proof.effort import NODES_ONE_BY_ONE, REPLICAS_ONE_BY_ONE
from planner.scheduler.framework import Diagnosis
from planner.scheduler.scheduler import Scheduler, SchedulingDecision

#: What limits a workload whose next replica gets a node by evicting others.
PREEMPTION = "Preemption"
#: What limits a workload whose next replica is not created: no room in a quota, or any other refusal.
QUOTA, ADMISSION = "ResourceQuota", "Admission"


@dataclass(frozen=True, slots=True)
class Found:
    """How many more, and why not one more than that.

    `most` cannot be beaten in whatever order, None where that is not known; `decided` has the node of every
    pod that came before, None where it waits or was evicted.
    """

    more: int
    message: str
    limited_by: tuple[str, ...]
    most: int | None
    decided: Mapping[str, str | None] = field(default_factory=dict)


def count(scheduler: Scheduler, pods: Sequence[int], most: int, enough: int | None = None) -> Found | None:
    """How many of these pods, all alike, are placed before one is not, and undo it; None where all are.

    Where at least `enough` are, they are counted in bulk if that can be: only the line may differ then.
    """
    mark = scheduler.state.mark()
    few = 0 if scheduler.problem.nodes.size > NODES_ONE_BY_ONE else enough
    try:
        if few is not None and scheduler.would_bind(pods[0]):
            found = _in_bulk(scheduler, pods[0], 0, most, few)
            if found is not None:
                return found
        for placed, pod in enumerate(pods):
            if placed and placed % REPLICAS_ONE_BY_ONE == 0:
                found = _in_bulk(scheduler, pod, placed, most, REPLICAS_ONE_BY_ONE)
                if found is not None:
                    return found
            # All pods are alike: what holds the first of them back holds all of them.
            decision = scheduler.decide(pod) if placed else scheduler.take(pod)
            if decision.node is None or decision.victims:
                return Found(placed, decision.message, limits(scheduler, decision), most)
    finally:
        scheduler.state.rollback(mark)
    return None


def _in_bulk(scheduler: Scheduler, pod: int, placed: int, most: int, few: int) -> Found | None:
    """All that fit after those that are placed, and the line then; None where that is not certain, or few.

    Fewer than `few` in all are placed one by one.
    """
    plan, state = scheduler.plan_of(pod), scheduler.state
    if scheduler.promises:
        # Room that is promised to a pod is free all the same.
        return None
    by_node, mark = in_any_order(plan), state.mark()
    if by_node is None or placed + by_node.sum() < few:
        return None
    state.load(plan.template.index, by_node)
    # The whole cycle, preemption too: it is the last part of the line, or makes room.
    decision = scheduler.decide(pod)
    if decision.node is None or decision.victims:
        found = Found(placed + int(by_node.sum()), decision.message, limits(scheduler, decision), most)
    else:
        found = Found(most, f"no limit was found: {most:,} more are placed, and so is the next one", (), most)
    state.rollback(mark)
    state.load(plan.template.index, -by_node)
    return found


def limits(scheduler: Scheduler, decision: SchedulingDecision) -> tuple[str, ...]:
    """What keeps a pod that was just decided from all nodes."""
    if decision.victims:
        return (PREEMPTION,)
    if line := scheduler.problem.refused.get(decision.pod):
        return refused(line)
    if scheduler.problem.held_back(decision.pod):
        return ("SchedulingGates",)
    return refusing(scheduler.diagnose(decision.pod))


def refused(line: str) -> tuple[str, ...]:
    """What keeps a pod from being created that the API server refuses in these words."""
    return (QUOTA if is_about_quota(line) else ADMISSION,)


def refusing(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The plugins that refused nodes first, those with the most nodes before others."""
    if diagnosis.refusal is not None:
        return (diagnosis.refusal[0],)
    nodes: Counter[str] = Counter()
    for number, times in enumerate(np.bincount(diagnosis.first[diagnosis.first >= 0]).tolist()):
        if times:
            # A node that the pod does not name is not looked at; its affinity is what names the others.
            nodes[diagnosis.rejections[number].plugin or "NodeAffinity"] += times
    return tuple(name for name, _ in sorted(nodes.items(), key=lambda item: (-item[1], item[0])))


def not_yet_asked_for(problem: Problem) -> set[str]:
    """The namespaces with quotas in which pods wait for lower ordinals: others may be asked for first."""
    limited = {quota.namespace for quota in problem.cluster.resource_quotas}
    pods = problem.pods
    new = [
        pod
        for pod in np.flatnonzero(problem.node_of < 0).tolist()
        if pods[pod].namespace in limited and is_new(pods[pod])
    ]
    return {pods[pod].namespace for pod in awaited(problem.cluster, dict(enumerate(pods)), new)}


class RoomInQuotas:
    """For each of some pods by itself: how many like it the API server would create."""

    def __init__(self, problem: Problem, coming: Collection[int]) -> None:
        self._problem, self._quotas = problem, Quotas(problem)
        #: The pods that are not created, whatever quotas say of those that come.
        self.refused = refusals(problem, self._quotas, coming)
        self.refused |= {pod: line for pod in coming if (line := problem.pods[pod].refusal)}

    def is_certain(self, pod: int, own: Collection[str]) -> bool:
        """Whether no claim that the pod mounts is made for others: all that are to come are its own."""
        return not self._quotas.has_claims_to_come(self._problem.pods[pod], own)

    def of(self, pod: int) -> tuple[int, str] | None:
        """How many, and what is said of the next; None where no quota limits them, or comes to be asked."""
        return None if pod in self.refused else self._quotas.room(self._problem.pods[pod])


def earlier(found: Found | None, placed: int, most: int, room: tuple[int, str] | None) -> Found | None:
    """What ends it first when so many pods are placed: the API server refuses one before it is scheduled.

    No placement has more than quotas admit, whichever pods still wait in it.
    """
    if room is None:
        return found
    number, line = room
    if number <= placed:
        return Found(number, f"not created: {line}", refused(line), min(number, most))
    return None if found is None else replace(found, most=min(number, most))
