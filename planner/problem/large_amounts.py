"""Amounts that cannot be counted in 64 bits, refused before any sum could overflow.

Kubernetes counts memory in bytes and cpu in milli, both in 64 bits, and its scores multiply by a hundred.
So no node is counted with more than `MOST`, and no pod with more than one above it.  That makes no
difference while all requests together fit into `MOST`, or no node has more; else there would be a wrong
answer, and the cluster is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from models.errors import InputError
from planner.problem.requests import MOST, in_units, in_words

if TYPE_CHECKING:
    from planner.problem.problem import Problem

#: Of all pods, or all nodes, together: sums stay below 2^63.
_MOST_IN_ALL = 1 << 62


def refuse_what_is_too_large(problem: Problem) -> None:
    """Raise an InputError with a line for every resource of which there is too much to be counted."""
    if problem.templates and (problems := [*_problems(problem)]):
        raise InputError(problems)


def _problems(problem: Problem) -> Iterator[str]:
    requests = np.stack([template.requests for template in problem.templates], axis=1).astype(np.float64)
    asked = requests @ problem.pods_per_template
    offered = problem.allocatable.astype(np.float64).sum(axis=1)
    there = np.zeros((len(problem.resources), problem.nodes.size))
    bound = np.flatnonzero(problem.node_of >= 0)
    if asked.max(initial=0.0) >= MOST:
        np.add.at(there.T, problem.node_of[bound], requests[:, problem.template_of[bound]].T)
    for row, name in enumerate(problem.resources):
        if max(asked[row], offered[row]) > _MOST_IN_ALL:
            yield f"{name}: all pods, or all nodes, have more of it together than can be counted"
        elif asked[row] >= MOST and (node := _too_large(problem, row, name)) is not None:
            amount = in_words(name, in_units(name, node[1]))
            yield (
                f"Node {node[0]}, status.allocatable.{name}: {amount} cannot be counted; "
                f"expected {in_words(name, MOST)} at most, where pods request as much together"
            )
        elif there[row].max(initial=0.0) > MOST:
            overfull = problem.nodes.names[int(there[row].argmax())]
            yield f"Node {overfull}: its pods request more {name} than can be counted, {in_words(name, MOST)}"


def _too_large(problem: Problem, row: int, name: str) -> tuple[str, int] | None:
    """The first node that has more of a resource than is counted, and how much; None when none has."""
    for position in np.flatnonzero(problem.allocatable[row] >= MOST).tolist():
        node = problem.nodes.nodes[position]
        if in_units(name, amount := node.status.allocatable[name]) > MOST:
            return node.metadata.name, amount
    return None
