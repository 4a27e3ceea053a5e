"""What is different about the nodes of two snapshots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from models import Cluster
from models.objects.affinity import CORDON
from models.objects.node import Node
from models.objects.quantity import format_quantity
from planner.documents.diff import NodeChanges, NodeDifference

_Pair = tuple[Node, Node]


def node_changes(before: Cluster, after: Cluster) -> NodeChanges:
    """Nodes that came and went, and in what the others are not what they were."""
    old, new = ({node.name: node for node in side.nodes} for side in (before, after))
    both = [(old[name], new[name]) for name in sorted(old.keys() & new.keys())]
    uids = [(was.metadata.uid, now.metadata.uid) for was, now in both]
    cordons = [(was.spec.unschedulable, now.spec.unschedulable) for was, now in both]
    different = [*_different(both)]

    def where(changes: Iterable[object]) -> tuple[str, ...]:
        return tuple(node.name for (node, _), changed in zip(both, changes, strict=True) if changed)

    def differing(what: str) -> tuple[str, ...]:
        return tuple(sorted(name for row in different if row.what == what for name in row.nodes))

    return NodeChanges(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        cordoned=where(now and not was for was, now in cordons),
        uncordoned=where(was and not now for was, now in cordons),
        remade=where(was and now and was != now for was, now in uids),
        tainted=differing("taints"),
        labelled=differing("labels"),
        resized=differing("allocatable"),
        different=tuple(different),
    )


def _taints(node: Node) -> Mapping[str, str]:
    taints = (taint for taint in node.spec.taints if taint != CORDON)
    return {f"{one.key}{one.value and f'={one.value}'}:{one.effect}": "" for one in taints}


def _labels(node: Node) -> Mapping[str, str]:
    return {key: f"={value}" for key, value in node.metadata.labels.items()}


def _allocatable(node: Node) -> Mapping[str, str]:
    return {name: f" {format_quantity(amount)}" for name, amount in node.status.allocatable.items()}


_READ: Mapping[Literal["taints", "labels", "allocatable"], Callable[[Node], Mapping[str, str]]] = {
    "taints": _taints,
    "labels": _labels,
    "allocatable": _allocatable,
}


def _different(both: Sequence[_Pair]) -> Iterator[NodeDifference]:
    """What differs, once for all nodes of which the same does; what most differ in comes first."""
    for what, read in _READ.items():
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
        for was, now in both:
            left, right = read(was), read(now)
            if left != right:
                groups[_only(left, right), _only(right, left)].append(was.name)
        for (gone, come), names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[1])):
            yield NodeDifference(what=what, nodes=tuple(names), before=gone, after=come)


def _only(side: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{key}{value}" for key, value in sorted(side.items()) if other.get(key) != value)
