"""Pending pods of which kube-scheduler says something else than is found here.

The line in a pod's condition PodScheduled is compared with the one for the cluster as it was read: whether
any node fits, and the reasons that are told, not how many nodes each is told of.  Of nodes that are undecided
here it may say anything.  Left out are pods that are promised a node, lines about another number of nodes,
and suppositions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from models.objects.pod import Pod
from planner.constraints.dynamic_resources import UNDECIDED
from planner.documents.plan import PendingReason
from planner.problem.problem import Problem
from planner.scheduler.framework import Diagnosis, Framework, Plan
from planner.scheduler.scheduler import Scheduler

_LINE = re.compile(r"0/(?P<nodes>\d+) nodes are available: (?P<reasons>.*?)\.(?: |$)")
#: Taints are named by some releases and not by others.
_TAINT = re.compile(r"node\(s\) had untolerated taint.*")


def contradictions(problem: Problem, only: Collection[str] | None = None) -> tuple[PendingReason, ...]:
    """The lines that are not explained, each with the pods that have it; `only` of these pods."""
    if problem.cluster.supposed:
        return ()
    found: dict[str, list[Pod]] = {}
    scheduler: Scheduler | None = None
    known: dict[tuple[int, str], bool] = {}
    for number in problem.queue():
        pod = problem.pods[number]
        line = _said_of(pod)
        if not line or problem.held_back(number) or not (only is None or pod.key in only):
            continue
        if scheduler is None:
            scheduler = Scheduler(problem, preemption=False)
            scheduler.restore_nominations(scheduler.queue)
        key = (int(problem.template_of[number]), line)
        if key not in known:
            known[key] = _explains(scheduler, number, line)
        if not known[key]:
            found.setdefault(line, []).append(pod)
    return tuple(
        PendingReason(message=line, pods=len(pods), example=pods[0].key) for line, pods in found.items()
    )


def notes_of(contradicted: tuple[PendingReason, ...]) -> Iterator[str]:
    """A sentence for each line."""
    for item in contradicted:
        more = f" and {item.pods - 1} more" if item.pods > 1 else ""
        yield (
            f"kube-scheduler says of {item.example}{more}: {item.message.rstrip('.')}; by what was read that "
            "is not so: another configuration or an extender is at work, or the cluster has changed since"
        )


def _said_of(pod: Pod) -> str:
    if pod.status.nominated_node_name:
        return ""
    told = (c for c in pod.status.conditions if c.type == "PodScheduled" and c.reason == "Unschedulable")
    return next((condition.message for condition in told if condition.status == "False"), "")


def _explains(scheduler: Scheduler, pod: int, line: str) -> bool:
    """Whether the scheduler would say that of a pod in the cluster as it was read.

    It may have done so before nodes were promised to other pods.
    """
    said = _LINE.match(line)
    problem = scheduler.problem
    name = problem.pods[pod].spec.scheduler_name
    if said is None or int(said["nodes"]) != problem.nodes.size or name not in scheduler.schedulers:
        return True
    framework, plan = scheduler.framework_of(pod), scheduler.plan_of(pod)
    diagnoses = [framework.diagnose(plan)]
    if scheduler.promises:
        diagnoses.append(scheduler.diagnose(pod))
    return any(_says(framework, plan, diagnosis, said["reasons"]) for diagnosis in diagnoses)


def _says(framework: Framework, plan: Plan, diagnosis: Diagnosis, reasons: str) -> bool:
    """Whether the scheduler tells these reasons where nodes are refused like that."""
    template = plan.template
    if diagnosis.refusal is None and bool((diagnosis.first < 0).any()):
        return framework.waits_for(template) is not None or framework.bind_failure(template) is not None
    found = _LINE.match(diagnosis.message())
    if found is None:
        return True
    here, there = _kinds(found["reasons"]), _kinds(reasons)
    undecided = {kind for kind in here if kind.startswith(UNDECIDED)}
    return here - undecided <= there if undecided else here == there


def _kinds(reasons: str) -> set[str]:
    kinds = (re.sub(r"^\d+ ", "", part) for part in re.split(r", (?=\d+ )", reasons))
    return {_TAINT.sub("node(s) had untolerated taint", kind) for kind in kinds}
