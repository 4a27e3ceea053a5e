"""Nodes that nothing distinguishes, so that it does not matter on which of them a replacement lands.

Tie-breaks that differ only in which of several interchangeable nodes got a pod lead to the same plan: the
scheduler treats these nodes alike, so everything afterwards is the same with the nodes permuted.
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
    couplings: Iterable[CoupledConstraints],
    sources: Collection[int],
    templates: Iterable[int],
) -> list[int]:
    """A class number for every node, equal for interchangeable ones; a source node is alone in its class."""
    nodes = trial.problem.nodes
    names = _names(trial)
    if any(_asks_for(trial, template, names) for template in templates):
        return list(range(nodes.size))
    cells = [coupled.cell_of for coupled in {id(coupled): coupled for coupled in couplings}.values()]
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
    """The label keys that act as names: no two nodes have the same value."""
    values: dict[str, Counter[str]] = {}
    for node in trial.problem.nodes.nodes:
        for key, value in node.metadata.labels.items():
            values.setdefault(key, Counter())[value] += 1
    return {key for key, found in values.items() if max(found.values()) == 1}


def _traits(
    trial: TrialCluster, number: int, names: Collection[str], content: Counter[int]
) -> Iterator[Hashable]:
    """Everything that is known of a node except its names."""
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
    """Whether a template's preferred nodeAffinity, or the scheduler configuration, names single nodes."""
    affinity = trial.problem.templates[template].pod.spec.affinity
    preferred = affinity.node_affinity.preferred if affinity is not None and affinity.node_affinity else ()
    asked = repr((preferred, trial.problem.cluster.scheduler_config))
    return "metadata.name" in asked or any(name in asked for name in names)
