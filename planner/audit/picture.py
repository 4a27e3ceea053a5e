"""`picture`: nodes and spread before and after some steps, for programs that draw them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from models import Cluster
from planner.audit.findings import change_of
from planner.audit.spread_counts import SpreadCounts, take
from planner.documents.picture import NodeUse, Picture, SpreadStep
from planner.problem.nodes import ZONE, Codes
from planner.problem.problem import Problem
from planner.problem.requests import CPU, MEMORY
from planner.state.state import State

#: (pod, the node that it leaves, the node that it comes to); None is nowhere.
Step = tuple[str, str | None, str | None]
#: Longer plans are not told step by step.
_MOST_STEPS = 5_000


def picture(cluster: Cluster, steps: Sequence[Step] = ()) -> Picture:
    """Every node with what is requested of it, and every constraint that the steps change."""
    problem = Problem(cluster)
    node_of = problem.node_of.copy()
    for pod, _, node in steps:
        node_of[problem.pod_index[pod]] = -1 if node is None else problem.nodes.index[node]
    now, after = State(problem, problem.node_of), State(problem, node_of)
    both = zip(take(problem, now), take(problem, after), strict=True)
    pairs = [(left, right) for left, right in both if left.differing(right).any()]
    found = [left for left, _ in pairs]
    return Picture(
        nodes=tuple(_nodes(problem, (now, after), (problem.node_of, node_of))),
        spread=tuple(change_of(left, right) for left, right in pairs),
        steps=tuple(_steps(problem, found, steps)) if len(steps) <= _MOST_STEPS else (),
    )


def _nodes(problem: Problem, states: tuple[State, State], placed: tuple[Codes, Codes]) -> Iterator[NodeUse]:
    size, nodes = problem.nodes.size, problem.nodes
    pods = [np.bincount(codes[codes >= 0], minlength=size).tolist() for codes in placed]
    percent = {name: [_percent(state, name) for state in states] for name in (CPU, MEMORY)}
    for place, name in enumerate(nodes.names):
        yield NodeUse(
            name=name,
            zone=nodes.nodes[place].metadata.labels.get(ZONE, ""),
            pods=(pods[0][place], pods[1][place]),
            percent={key: (found[0][place], found[1][place]) for key, found in percent.items()},
        )


def _percent(state: State, resource: str) -> list[int]:
    """What pods request of every node, in per cent; 0 where there is none of it."""
    row = state.problem.resource_index[resource]
    room, used = state.problem.allocatable[row], state.used[row]
    share = 100 * used.astype(np.float64) / np.maximum(room, 1) * (room > 0)
    return [round(value) for value in share.tolist()]


def _steps(problem: Problem, found: Sequence[SpreadCounts], steps: Sequence[Step]) -> Iterator[SpreadStep]:
    counted: dict[int, list[tuple[int, SpreadCounts]]] = defaultdict(list)
    for number, counts in enumerate(found):
        for template in counts.rule.tally.members:
            counted[template].append((number, counts))
    for pod, source, node in steps:
        changes = [
            (number, domain, amount)
            for number, counts in counted[int(problem.template_of[problem.pod_index[pod]])]
            for place, amount in ((source, -1), (node, 1))
            if (domain := _domain(problem, counts, place)) is not None
        ]
        yield SpreadStep(pod=pod, source=source, node=node, changes=tuple(changes))


def _domain(problem: Problem, counts: SpreadCounts, node: str | None) -> str | None:
    """The domain in which a constraint counts the pods of a node; None where it counts none."""
    if node is None:
        return None
    place = problem.nodes.index[node]
    if not counts.rule.counts.eligible[place]:
        return None
    return counts.rule.column.values[int(counts.rule.column.codes[place])]
