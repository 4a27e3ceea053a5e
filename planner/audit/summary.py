"""A placement of the pending pods in figures, and how much of the nodes is in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from planner.audit import spread_counts
from planner.audit.findings import named
from planner.documents.figures import DomainCount, PriorityCount, Summary, Utilisation
from planner.problem.nodes import Codes, Ints, Mask
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.state import State

#: Pods of these come with every node, and do not make it a used one.
_OWNED_BY_NODES = frozenset({"DaemonSet", "Node"})


def occupied(state: State) -> Mask:
    """The nodes that hold any pod but those that every node has."""
    templates = state.problem.templates
    tally = state.tally("occupied", lambda: {found.index: 1 for found in templates if makes_used(found)})
    return tally.counts > 0


def makes_used(template: Template) -> bool:
    return template.owner is None or template.owner.kind not in _OWNED_BY_NODES


def use_of(state: State) -> list[Utilisation]:
    """The use of every resource that some node has and some pod, placed or pending, requests."""
    problem = state.problem
    wanted = np.zeros(len(problem.resources), np.int64)
    for template in problem.templates:
        np.maximum(wanted, template.requests, out=wanted)
    rows = np.flatnonzero((wanted > 0) & problem.allocatable.any(axis=1)).tolist()
    return [
        _use(problem.resources[row], problem.allocatable[row], state.used[row], problem.nodes.names)
        for row in rows
    ]


def _use(resource: str, room: Ints, used: Ints, names: tuple[str, ...]) -> Utilisation:
    """The nodes that have nothing of the resource are not looked at."""
    share = 100 * used / np.maximum(room, 1) * (room > 0)
    fullest = int(share.argmax())
    # Sums of bytes over many nodes: floats are exact enough here, and cannot overflow.
    mean = 100 * float(used[room > 0].sum(dtype=np.float64)) / float(room.sum(dtype=np.float64))
    return Utilisation(
        resource=resource,
        mean_percent=round(mean, 1),
        fullest_percent=round(float(share[fullest]), 1),
        fullest_node=names[fullest],
    )


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
