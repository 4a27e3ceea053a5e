"""Alike nodes exchange all their pods, so that as many as possible are where they run already."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from planner.batch.packing.vectors import Units
from planner.problem.nodes import Codes, Ints


def kept_on_current_node(vectors: Units, at: Codes) -> Codes:
    """The same packing with the loads of alike nodes reassigned among them, the closest match first."""
    new = np.arange(vectors.nodes + 1)
    for nodes in _alike(vectors, at):
        coming, running = _counts(vectors, at, nodes), _counts(vectors, vectors.home, nodes)
        staying = np.minimum(coming[:, np.newaxis], running).sum(axis=2)
        for _ in nodes:
            load, home = np.unravel_index(int(staying.argmax()), staying.shape)
            new[nodes[load]] = nodes[home]
            staying[load], staying[:, home] = -1, -1
    found: Codes = new[at]
    return found


def _alike(vectors: Units, at: Codes) -> list[Codes]:
    """Nodes that have the same room for the same pods, also for those that are on them now."""
    strangers = np.flatnonzero(
        (at < vectors.nodes) & ~vectors.allowed[vectors.of, np.minimum(at, vectors.nodes - 1)]
    )
    apart = set(at[strangers].tolist())
    groups: dict[bytes, list[int]] = defaultdict(list)
    for node in range(vectors.nodes):
        if node not in apart:
            groups[vectors.free[node].tobytes() + vectors.allowed[:, node].tobytes()].append(node)
    return [np.array(nodes, np.intp) for nodes in groups.values() if len(nodes) > 1]


def _counts(vectors: Units, at: Codes, nodes: Codes) -> Ints:
    """How many pods of every kind each of the nodes has."""
    position = np.full(vectors.nodes + 1, -1, np.intp)
    position[nodes] = np.arange(len(nodes))
    there = position[at]
    counts = np.zeros((len(nodes), len(vectors.allowed)), np.int64)
    np.add.at(counts, (there[there >= 0], vectors.of[there >= 0]), 1)
    return counts
