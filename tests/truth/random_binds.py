"""Pods bound in a random order, each to any node that the filters accept: what they reach is possible."""

from __future__ import annotations

import random
from collections.abc import Iterable

from planner.scheduler.scheduler import Scheduler


def bound_at_random(scheduler: Scheduler, pods: Iterable[int], chance: random.Random) -> list[int]:
    """Those of the pods that got a node; gated ones and those of other schedulers do not."""
    problem, state = scheduler.problem, scheduler.state
    order, placed = [*pods], list[int]()
    chance.shuffle(order)
    for pod in order:
        spec = problem.pods[pod].spec
        if spec.scheduling_gates or spec.scheduler_name not in scheduler.schedulers:
            continue
        framework = scheduler.framework_of(pod)
        nodes = framework.feasible(framework.plan(problem.template(pod))).mask.nonzero()[0].tolist()
        if nodes:
            state.bind(pod, chance.choice(nodes))
            placed.append(pod)
    return placed
