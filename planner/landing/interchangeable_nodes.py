"""Nodes that nothing tells apart, so that it is the same which of them a replacement comes to.

Of ways in which ties were broken those are one that differ only in which twin got what: the scheduler
treats twins alike, so from each of these ways on the rest goes as from any other, with twins in other roles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator

from planner.landing.coupled_constraints import CoupledConstraints
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes


def interchangeable_nodes(
    trial: TrialCluster,
    node_of: Codes,
    crowds: Iterable[CoupledConstraints],
    sources: Collection[int],
    templates: Iterable[int],
) -> list[int]:
    """A number for every node, equal for twins as pods are placed; one that pods leave has none."""
    nodes = trial.problem.nodes
    names = _names(trial)
    if any(_asks_for(trial, template, names) for template in templates):
        return list(range(nodes.size))
    cells = [coupled.cell_of for coupled in {id(coupled): coupled for coupled in crowds}.values()]
    numbers: dict[Hashable, int] = {}
    contents = _contents(trial, node_of)
    return [
        numbers.setdefault(
            node if node in sources else (*_traits(trial, node, names, contents[node]), *_at(cells, node)),
            len(numbers),
        )
        for node in range(nodes.size)
    ]


def _names(trial: TrialCluster) -> set[str]:
    """The labels that are names: no two nodes have the same value."""
    values: dict[str, Counter[str]] = {}
    for node in trial.problem.nodes.nodes:
        for key, value in node.metadata.labels.items():
            values.setdefault(key, Counter())[value] += 1
    return {key for key, found in values.items() if max(found.values()) == 1}


def _traits(
    trial: TrialCluster, number: int, names: Collection[str], content: Counter[int]
) -> Iterator[Hashable]:
    """All that is known of a node but its names."""
    node = trial.problem.nodes.nodes[number]
    labels = node.metadata.labels.items()
    yield tuple(sorted((key, "" if key in names else value) for key, value in labels))
    yield repr((node.spec.taints, node.spec.unschedulable, node.status.images))
    yield tuple(trial.problem.allocatable[:, number].tolist())
    yield tuple(sorted(content.items()))


def _at(cells: Iterable[Codes], node: int) -> Iterator[int]:
    return (int(of[node]) for of in cells)


def _contents(trial: TrialCluster, node_of: Codes) -> list[Counter[int]]:
    """The templates of the pods on every node."""
    found: list[Counter[int]] = [Counter() for _ in trial.problem.nodes.nodes]
    templates = trial.problem.template_of.tolist()
    for pod, node in enumerate(node_of.tolist()):
        if node >= 0:
            found[node][templates[pod]] += 1
    return found


def _asks_for(trial: TrialCluster, template: int, names: Iterable[str]) -> bool:
    """Whether pods of a template, or all pods of the scheduler, would rather be on nodes of some names."""
    affinity = trial.problem.templates[template].pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity is not None and affinity.node_affinity else ()
    asked = repr((preferred, trial.problem.cluster.scheduler_config))
    return "metadata.name" in asked or any(name in asked for name in names)
