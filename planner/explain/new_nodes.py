"""One more node: like one that is there, and where that is not enough, as the pod needs it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from models.objects.affinity import Taint
from models.objects.node import Node
from models.objects.pod import Pod
from models.objects.quantity import parse_quantity
from planner.explain.blockers import PendingCase
from planner.explain.change import ClusterChange, Cost
from planner.explain.node_risks import risk_of_kind
from planner.explain.node_rules import labelled, missing_labels
from planner.explain.room_changes import with_room
from planner.explain.volume_places import labels_to_reach
from planner.problem.eligibility import keeps_away, lasting
from planner.problem.nodes import HOSTNAME, Column, Ints
from planner.problem.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, in_words, pod_requests, room_words
from planner.whatif.nodes import free_names, fresh_node

_UNITS = {CPU: 1000, MEMORY: 1 << 30, EPHEMERAL_STORAGE: 1 << 30}


@dataclass(frozen=True, slots=True)
class _NodeNeed:
    """What a node to order has that its model has not."""

    taints: tuple[Taint, ...]
    labels: dict[str, str]
    room: dict[str, int]

    @property
    def words(self) -> list[str]:
        """The differences, each as it follows a comma."""
        found = [f"without taint {taint.key}" for taint in self.taints]
        found += [f"with label {key}={value}" for key, value in self.labels.items()]
        return found + [f"with {room_words(name, amount)}" for name, amount in self.room.items()]

    def on(self, node: Node) -> Node:
        """The node as it is needed."""
        kept = tuple(taint for taint in node.spec.taints if taint not in self.taints)
        node = node.changed("spec", taints=kept)
        room = {name: parse_quantity(in_words(name, amount)) for name, amount in self.room.items()}
        return with_room(labelled(node, self.labels), room)


def like(case: PendingCase, number: int = 1) -> Iterator[ClusterChange]:
    """So many nodes like each kind that there is, with what the pod needs besides."""
    for position in case.problem.nodes.kinds:
        node = case.problem.nodes.nodes[position]
        yield _order(case, position, _need(case, node, position), number)


def in_new_domain(case: PendingCase, column: Column, lost: tuple[str, str] | None) -> Iterator[ClusterChange]:
    """The same in a domain that does not exist yet, and is not `lost`; a new node has a host name anyway."""
    key = column.key
    if key == HOSTNAME:
        return
    taken = {*column.values, *([lost[1]] if lost is not None else [])}
    value = next(free_names(key.rpartition("/")[2], taken, len(column.values) + 1))
    for position in case.problem.nodes.kinds[:2]:
        need = _need(case, case.problem.nodes.nodes[position], position)
        yield _order(case, position, _NodeNeed(need.taints, {**need.labels, key: value}, need.room))


def _order(case: PendingCase, position: int, need: _NodeNeed, number: int = 1) -> ClusterChange:
    node, words = case.problem.nodes.nodes[position], need.words
    names = islice(free_names(node.name, case.problem.nodes.index, 2), number)
    what = "one more node" if number == 1 else f"{number} more nodes"
    return ClusterChange(
        "AddNode",
        (Cost.OTHER_NODE + len(words) if words else Cost.NODE) + 5 * (number - 1),
        ", ".join([f"{what} like {node.name}", *words]),
        new_nodes=tuple(need.on(fresh_node(node, name, {})) for name in names),
        like=position,
        # What such a node is built for it is without the taint, too.
        risk=next(filter(None, (risk_of_kind(case.template.pod.spec, one) for one in need.taints)), ""),
    )


def _need(case: PendingCase, node: Node, position: int) -> _NodeNeed:
    taints, spec = lasting(node.spec.taints), case.template.pod.spec
    repelling = tuple(taint for taint in taints if keeps_away(taint, spec))
    need = _NodeNeed(repelling, {**missing_labels(case, node), **labels_to_reach(case, node)}, {})
    return replace(need, room=_bigger(case, position, need.on(fresh_node(node, node.name, {}))))


def _bigger(case: PendingCase, position: int, new: Node) -> dict[str, int]:
    """What a new node would have to have to hold its daemons and the pod, where that is more."""
    problem = case.problem
    static = [pod for pod in map(problem.pods.__getitem__, case.state.pods_on[position]) if pod.is_mirror]
    wanted, daemons = np.array(case.template.amounts), case.static.daemons_on(new, position)
    need = wanted + sum(_amounts(case, pod) for pod in (*daemons, *static))
    short = np.flatnonzero((need > problem.allocatable[:, position]) & (wanted > 0))
    names = [problem.resources[row] for row in short.tolist()]
    return {name: _rounded(name, int(amount)) for name, amount in zip(names, need[short], strict=True)}


def _amounts(case: PendingCase, pod: Pod) -> Ints:
    """What a pod requests, in the order of the problem's resources."""
    requests = {**pod_requests(pod), PODS: 1}
    return np.array([requests.get(name, 0) for name in case.problem.resources])


def _rounded(name: str, amount: int) -> int:
    """A whole number of cores, of gibibytes, of devices."""
    unit = _UNITS.get(name, 1)
    return math.ceil(amount / unit) * unit
