"""Controllers of kinds that are not read: that they make evicted pods again is taken for granted.

`kubectl drain` does so with any controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from models.objects.kinds import is_known
from models.words import are, counted
from planner.eviction.movable import is_tied
from planner.problem.problem import Problem


def taken_for_granted(problem: Problem, evicted: Iterable[int]) -> Iterator[str]:
    """At most one note: how many of the pods that are evicted have such a controller, and of which kinds."""
    owners = [problem.pods[pod].metadata.controller for pod in dict.fromkeys(evicted)]
    kinds = [owner.kind for owner in owners if owner and not is_known(owner.api_version, owner.kind)]
    if kinds:
        names = sorted(set(kinds))
        pods_are = f"{counted(len(kinds), 'pod')} {are(len(kinds))}"
        made = "that it is made again is" if len(kinds) == 1 else "that they are made again is"
        yield (
            f"{pods_are} controlled by {', '.join(names)}, which {are(len(names))} not read: "
            f"{made} taken for granted"
        )


def lost_with(problem: Problem, key: str) -> Iterator[int]:
    """The pods that are made again when any domain of a topology key is lost."""
    here = (problem.node_of >= 0) & problem.nodes.column(key).present[problem.node_of]
    for number in np.flatnonzero(here).tolist():
        pod = problem.pods[number]
        if not (pod.is_terminating or is_tied(pod)):
            yield number
