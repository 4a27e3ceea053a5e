"""Nodes that nothing tells apart, so that it is the same which of them a replacement comes to.

Of ways in which ties were broken those are one that differ only in which twin got what: the scheduler
treats twins alike, so from each of these ways on the rest goes as from any other, with twins in other roles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator

from planner.problem.nodes import Codes
from planner.rebalance.crowds import Crowd
from planner.rebalance.trial_cluster import TrialCluster


def twins(
    board: TrialCluster,
    node_of: Codes,
    crowds: Iterable[Crowd],
    sources: Collection[int],
    templates: Iterable[int],
) -> list[int]:
    """A number for every node, equal for twins as pods are placed; one that pods leave has none."""
    nodes = board.problem.nodes
    names = _names(board)
    if any(_asks_for(board, template, names) for template in templates):
        return list(range(nodes.size))
    cells = [crowd.cell_of for crowd in {id(crowd): crowd for crowd in crowds}.values()]
    numbers: dict[Hashable, int] = {}
    contents = _contents(board, node_of)
    return [
        numbers.setdefault(
            node if node in sources else (*_traits(board, node, names, contents[node]), *_at(cells, node)),
            len(numbers),
        )
        for node in range(nodes.size)
    ]


def _names(board: TrialCluster) -> set[str]:
    """The labels that are names: no two nodes have the same value."""
    values: dict[str, Counter[str]] = {}
    for node in board.problem.nodes.nodes:
        for key, value in node.metadata.labels.items():
            values.setdefault(key, Counter())[value] += 1
    return {key for key, found in values.items() if max(found.values()) == 1}


def _traits(
    board: TrialCluster, number: int, names: Collection[str], content: Counter[int]
) -> Iterator[Hashable]:
    """All that is known of a node but its names."""
    node = board.problem.nodes.nodes[number]
    labels = node.metadata.labels.items()
    yield tuple(sorted((key, "" if key in names else value) for key, value in labels))
    yield repr((node.spec.taints, node.spec.unschedulable, node.status.images))
    yield tuple(board.problem.allocatable[:, number].tolist())
    yield tuple(sorted(content.items()))


def _at(cells: Iterable[Codes], node: int) -> Iterator[int]:
    return (int(of[node]) for of in cells)


def _contents(board: TrialCluster, node_of: Codes) -> list[Counter[int]]:
    """The templates of the pods on every node."""
    found: list[Counter[int]] = [Counter() for _ in board.problem.nodes.nodes]
    templates = board.problem.template_of.tolist()
    for pod, node in enumerate(node_of.tolist()):
        if node >= 0:
            found[node][templates[pod]] += 1
    return found


def _asks_for(board: TrialCluster, template: int, names: Iterable[str]) -> bool:
    """Whether pods of a template, or all pods of the scheduler, would rather be on nodes of some names."""
    affinity = board.problem.templates[template].pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity is not None and affinity.node_affinity else ()
    asked = repr((preferred, board.problem.cluster.scheduler_config))
    return "metadata.name" in asked or any(name in asked for name in names)
