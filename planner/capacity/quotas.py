"""What quotas leave for replicas to come, beside all pods that are there or asked for already.

Replicas that are alike count as the same each, so how many a quota admits is a division.  The API server is
asked for them after all pods that wait, which are admitted as they are without them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from models.admission.chain import is_new
from planner.capacity.replicas import Found, refused
from planner.problem.creation_order import awaited
from planner.problem.problem import Problem
from planner.problem.quotas import Quotas, refusals


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
