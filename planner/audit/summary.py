"""A placement of the pending pods in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from planner.audit import spread_counts
from planner.audit.findings import named
from planner.audit.usage import occupied, use_of
from planner.documents.figures import DomainCount, PriorityCount, Summary
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.state.state import State


def summary(problem: Problem, queue: Sequence[int], node_of: Codes) -> Summary:
    """What comes of the pods of the queue when every pod is on its node; -1 is none."""
    state = State(problem, node_of)
    counts = by_priority(problem, queue, node_of)
    return Summary(
        pods=len(queue),
        placed=sum(count.placed for count in counts),
        by_priority=counts,
        unplaced=tuple(problem.pods[pod].key for pod in queue if node_of[pod] < 0),
        spread=tuple(_spread(found) for found in spread_counts.take(problem, state)),
        nodes=problem.nodes.size,
        nodes_used=int(np.count_nonzero(occupied(state))),
        utilisation=tuple(use_of(state)),
    )


def by_priority(problem: Problem, queue: Sequence[int], node_of: Codes) -> tuple[PriorityCount, ...]:
    """How many pods of the queue each priority has, and how many of them are placed, the highest first."""
    pods = Counter(problem.priorities[queue].tolist())
    placed = Counter(problem.priorities[[pod for pod in queue if node_of[pod] >= 0]].tolist())
    return tuple(
        PriorityCount(priority=priority, pods=pods[priority], placed=placed[priority])
        for priority in sorted(pods, reverse=True)
    )


def _spread(found: spread_counts.SpreadCounts) -> DomainCount:
    return DomainCount(
        **named(found),
        domains=found.domains,
        skew=found.skew,
        excess=dict(found.surplus),
    )
