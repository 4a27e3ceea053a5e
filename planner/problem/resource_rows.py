"""Amounts of resources as integers: a row for each resource that nodes offer or pods request.

Amounts that cannot be counted in 64 bits are refused before any sum could overflow.  Kubernetes counts memory
in bytes and cpu in milli, both in 64 bits, and its scores multiply by a hundred.  So no node is counted with
more than `MOST`, and no pod with more than one above it.  That makes no difference while all requests
together fit into `MOST`, or no node has more; else there would be a wrong answer, and the cluster is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models.errors import InputError
from models.objects.node import Node
from planner.problem.nodes import Codes, Ints, NodeAxis
from planner.problem.requests import CPU, EPHEMERAL_STORAGE, MEMORY, MOST, PODS, in_units, in_words


class ResourceRows:
    """The rows of all tables of amounts."""

    def __init__(self, nodes: Iterable[Node], requests: Iterable[Mapping[str, int]]) -> None:
        """cpu, memory and ephemeral-storage first, then extended resources by name, pods last."""
        offers = {tuple(node.status.allocatable) for node in nodes}
        seen = {name for offer in offers for name in offer}
        for wanted in requests:
            seen.update(wanted)
        first = (CPU, MEMORY, EPHEMERAL_STORAGE)
        self.names: tuple[str, ...] = (*first, *sorted(seen - {*first, PODS}), PODS)
        self.index = {name: row for row, name in enumerate(self.names)}

    def amounts(self, requests: Mapping[str, int]) -> Ints:
        found = np.zeros(len(self.names), np.int64)
        for name, amount in requests.items():
            found[self.index[name]] = amount
        return found

    def allocatable(self, nodes: Sequence[Node]) -> Ints:
        """What nodes offer, a column for each; nodes come in few sizes, and what is alike is read once."""
        sizes: dict[tuple[tuple[str, int], ...], int] = {}
        offers = (tuple(node.status.allocatable.items()) for node in nodes)
        size_of = [sizes.setdefault(offer, len(sizes)) for offer in offers]
        columns = np.zeros((len(self.names), len(sizes)), np.int64)
        for offer, column in sizes.items():
            for name, amount in offer:
                if name in self.index:
                    columns[self.index[name], column] = min(in_units(name, amount), MOST)
        return columns[:, size_of]


#: Of all pods, or all nodes, together: sums stay below 2^63.
_MOST_IN_ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class Amounts:
    """What the pods request: resources by templates, the pods of each, and each pod's template and node."""

    requests: Ints
    pods_per_template: Ints
    template_of: Codes
    node_of: Codes


def refuse_what_is_too_large(
    resources: Sequence[str], nodes: NodeAxis, allocatable: Ints, pods: Amounts
) -> None:
    """Raise an InputError with a line for every resource of which there is too much to be counted."""
    if problems := [*_problems(resources, nodes, allocatable, pods)]:
        raise InputError(problems)


def _problems(resources: Sequence[str], nodes: NodeAxis, allocatable: Ints, pods: Amounts) -> Iterator[str]:
    requests = pods.requests.astype(np.float64)
    asked = requests @ pods.pods_per_template
    offered = allocatable.astype(np.float64).sum(axis=1)
    there = np.zeros((len(resources), nodes.size))
    bound = np.flatnonzero(pods.node_of >= 0)
    if asked.max(initial=0.0) >= MOST:
        np.add.at(there.T, pods.node_of[bound], requests[:, pods.template_of[bound]].T)
    for row, name in enumerate(resources):
        if max(asked[row], offered[row]) > _MOST_IN_ALL:
            yield f"{name}: all pods, or all nodes, have more of it together than can be counted"
        elif asked[row] >= MOST and (node := _too_large(nodes, allocatable[row], name)) is not None:
            amount = in_words(name, in_units(name, node[1]))
            yield (
                f"Node {node[0]}, status.allocatable.{name}: {amount} cannot be counted; "
                f"expected {in_words(name, MOST)} at most, where pods request as much together"
            )
        elif there[row].max(initial=0.0) > MOST:
            overfull = nodes.names[int(there[row].argmax())]
            yield f"Node {overfull}: its pods request more {name} than can be counted, {in_words(name, MOST)}"


def _too_large(nodes: NodeAxis, allocatable: Ints, name: str) -> tuple[str, int] | None:
    """The first node that has more of a resource than is counted, and how much; None when none has."""
    for position in np.flatnonzero(allocatable >= MOST).tolist():
        node = nodes.nodes[position]
        if in_units(name, amount := node.status.allocatable[name]) > MOST:
            return node.metadata.name, amount
    return None
