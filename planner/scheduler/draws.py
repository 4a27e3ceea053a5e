"""What a seed decides: which of the feasible nodes are found, and which of the best is taken."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from planner.problem.nodes import Codes, Feasible
from planner.problem.problem import Problem
from planner.scheduler.framework import Framework, Plan
from planner.scheduler.profile import percentage_of, profiles_of
from planner.scheduler.sampling import Sampling, enough, on_top


@dataclass(frozen=True, slots=True)
class Competitors:
    """The nodes that compete for a pod; in the order found, where the program looked at a part of all."""

    feasible: Feasible
    order: Codes | None = None


class Draws:
    """One run of the program, drawn from a seed."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._draw = random.Random(seed)
        self._size = problem.nodes.size
        self._sampling = Sampling(problem, self._draw)
        self._takes_first = problem.behaviour.first_found_wins

    def find(self, framework: Framework, plan: Plan, feasible: Feasible) -> Competitors:
        """Those of the feasible nodes that the program finds before it has enough."""
        asked = self._size if plan.named is None else int(np.count_nonzero(plan.named))
        wanted = enough(asked, framework.profile.percentage) if framework.profile.scores else 1
        if wanted >= asked or not feasible.count:
            return Competitors(feasible)
        order = self._sampling.found(feasible.mask, plan.named, wanted)
        return Competitors(Feasible(framework.problem.nodes.mask_of(order)), order)

    def pick(self, framework: Framework, plan: Plan, found: Competitors) -> int:
        """One of the nodes with the highest total.

        Among all nodes each has the same chance: which one comes first depends on a history that no snapshot
        has.  Among a part the order found decides since Kubernetes 1.35.
        """
        if found.feasible.count == 1:
            return int(found.feasible.mask.argmax())
        totals = framework.totals(plan, found.feasible)
        order = np.flatnonzero(found.feasible.mask) if found.order is None else found.order
        best = totals[order] == totals[order].max()
        if found.order is None or not self._takes_first:
            among: list[int] = order[best].tolist()
            return self._draw.choice(among)
        turns = on_top(len(order))
        return int(order[best][turns[best].argmin()])


def sampled(problem: Problem) -> int | None:
    """After how many feasible nodes the program stops looking for more; None where it looks at all."""
    config, size = problem.cluster.scheduler_config, problem.nodes.size
    fewest = min(enough(size, percentage_of(profile, config)) for profile in profiles_of(config).values())
    return fewest if fewest < size else None
