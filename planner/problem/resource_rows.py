"""Amounts of resources as integers: a row for each resource that nodes offer or pods request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from models.objects.node import Node
from planner.problem.nodes import Ints
from planner.problem.requests import CPU, EPHEMERAL_STORAGE, MEMORY, MOST, PODS, in_units


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
