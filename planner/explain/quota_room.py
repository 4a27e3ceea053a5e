"""ResourceQuotas with room for the pods that they keep out: what they would have to allow, tried out.

Which of several workloads gets the last of a quota depends on which comes first, so there is to be room
for all that wait for it in the namespace.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from models.admission.chain import is_new
from models.objects.policy import ResourceQuota
from models.objects.quantity import parse_quantity
from planner.documents.explanation import Fix, FixChange
from planner.explain.at_rest import AtRest
from planner.problem.problem import Problem
from planner.problem.quotas import EXCEEDED, Quotas

#: By quota, what it would have to allow of what.
_Room = Mapping[str, Mapping[str, str]]


class RaisedQuotas:
    """For pods that a quota keeps from being created: what it would have to allow, each tried out once."""

    def __init__(self, static: AtRest) -> None:
        self._static = static
        self._raised: dict[str, tuple[_Room, AtRest]] = {}
        """By namespace the quotas that are too small, and the cluster at rest when they are not."""

    def concerns(self, pod: int) -> bool:
        """Whether it is a quota that refuses a pod."""
        return EXCEEDED in self._static.problem.refused[pod]

    def fixes(self, pods: Sequence[int]) -> tuple[Fix, ...]:
        """The raised quotas for some pods alike, where the first of them then gets a node."""
        problem, namespace = self._static.problem, self._static.problem.pods[pods[0]].namespace
        if namespace not in self._raised:
            self._raised[namespace] = self._raise(namespace)
        room, after = self._raised[namespace]
        node_of = after.scheduler.state.node_of
        if node_of[pods[0]] < 0:
            return ()
        evicted = [pod for pod in after.evicted if pod not in self._static.evicted]
        fix = Fix(
            changes=tuple(_change(namespace, *item) for item in sorted(room.items())),
            node=problem.nodes.names[node_of[pods[0]]],
            victims=tuple(problem.pods[pod].key for pod in evicted),
            places=sum(int(node_of[pod]) >= 0 for pod in pods),
        )
        return (fix,)

    def _raise(self, namespace: str) -> tuple[_Room, AtRest]:
        static, problem = self._static, self._static.problem
        room = _room(problem, namespace)
        quotas = tuple(
            _with(quota, room[quota.name]) if quota.namespace == namespace and quota.name in room else quota
            for quota in problem.cluster.resource_quotas
        )
        cluster = replace(problem.cluster, resource_quotas=quotas)
        return room, AtRest(Problem(cluster, problem), static.preemption, static.effort)


def _room(problem: Problem, namespace: str) -> _Room:
    """What the quotas of a namespace would have to allow, where it is more than they do."""
    quotas = Quotas(problem)
    kept_out = []
    for number, pod in enumerate(problem.pods):
        line = problem.refused.get(number, "")
        if pod.namespace == namespace and not pod.node_name and is_new(pod):
            if EXCEEDED in line:
                kept_out.append(pod)
            elif not line:
                quotas.admit(pod)
    return quotas.room_for(kept_out)


def _with(quota: ResourceQuota, room: Mapping[str, str]) -> ResourceQuota:
    hard = {**quota.spec.hard, **{item: parse_quantity(amount) for item, amount in room.items()}}
    return quota.changed("spec", hard=hard)


def _change(namespace: str, name: str, room: Mapping[str, str]) -> FixChange:
    patch = {"spec": {"hard": dict(room)}}
    text = json.dumps(patch, separators=(",", ":"))
    told = ", ".join(f"{item} {amount}" for item, amount in room.items())
    return FixChange(
        action="RaiseQuota",
        target=f"ResourceQuota/{name}",
        namespace=namespace,
        summary=f"let ResourceQuota {name} allow {told}",
        command=f"kubectl patch resourcequota {name} -n {namespace} -p {shlex.quote(text)}",
        patch=patch,
    )
