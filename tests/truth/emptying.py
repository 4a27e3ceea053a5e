"""Which nodes moves can empty, and at what cost: every set of nodes, breadth first over single moves.

A set that is found refutes what is said about all sets.  That none is found says little: several moves that
are under way together may reach more.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from tests.truth import manifests, moving
from tests.truth.digits import State
from tests.truth.manifests import Object
from tests.truth.moving import Moving, Parents
from tests.truth.tiny_cluster import TinyCluster

#: States looked at for each set of nodes; states in all in which it is empty and all rules are looked at.
LIMIT, LOOKED_AT = 5_000, 60
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_NOT_READY = frozenset(("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"))


@dataclass(frozen=True)
class EmptiedNodes:
    """Nodes that go, what the others cost, and the moves that empty them."""

    nodes: Sequence[str]
    cost: int | Fraction
    moves: Sequence[str]

    @property
    def told(self) -> tuple[str, ...]:
        """Line by line."""
        return f"without {', '.join(self.nodes) or 'no node'} the cost is {self.cost}", *self.moves


class NodeSetSearch:
    """The search over sets of nodes and placements of the pods that may move."""

    def __init__(
        self,
        objects: Sequence[Object],
        prices: Mapping[str, int | Fraction] | None = None,
        most: int | None = None,
        reserve: float = 0.0,
        accepted: Callable[[Sequence[Object]], bool] | None = None,
    ) -> None:
        """Prices by the name of the node, 1 without them; at most so many moves; so much room stays free.

        `accepted` says of the objects that are left whether they keep to what else was asked for.
        """
        self._objects = objects
        self._tiny = TinyCluster(objects)
        self._prices = prices or dict.fromkeys(self._tiny.names, 1)
        self._most = most
        #: Whether no set was given up because there were too many states.
        self.complete = True
        self._accepted, self._looked_at = accepted, 0
        self._usable = 1 - Fraction(str(reserve))
        self._removable = [name for number, name in enumerate(self._tiny.names) if self._may_go(number)]

    def _may_go(self, number: int) -> bool:
        """Whether every pod of a node may be evicted or goes with it."""
        node, name = self._tiny.nodes[number], self._tiny.names[number]
        taints = {taint["key"] for taint in (node.get("spec") or {}).get("taints") or ()}
        promised = {(pod.get("status") or {}).get("nominatedNodeName") for pod in self._tiny.pods}
        there = [kind for kind in self._tiny.kinds if number in kind.running]
        stays = any(not kind.movable and not _goes_along(kind.pod) for kind in there)
        return not (stays or name in promised or (there and taints & _NOT_READY))

    def cost(self, nodes: Sequence[str]) -> int | Fraction:
        """What the others cost."""
        return sum(self._prices.values()) - sum(self._prices[name] for name in nodes)

    def found(self, wanted: Callable[[int | Fraction], int | None]) -> Iterator[EmptiedNodes]:
        """Sets that moves can empty, of the costs for which `wanted` says how many moves it may take."""
        for size in range(len(self._removable), -1, -1):
            for nodes in combinations(self._removable, size):
                cost = self.cost(nodes)
                most = wanted(cost)
                if most is None:
                    continue
                if self._most is not None:
                    most = min(most, self._most)
                moves = self._emptied(nodes, most)
                if moves is not None:
                    yield EmptiedNodes(nodes, cost, moves)

    def _emptied(self, nodes: Sequence[str], most: int) -> Sequence[str] | None:
        """The fewest moves that empty some nodes, all cordoned; None if so many do not."""
        tiny = TinyCluster([_cordoned(item) if _is_one_of(item, nodes) else item for item in self._objects])
        going = [tiny.names.index(name) for name in nodes]
        movable = [number for number, kind in enumerate(tiny.kinds) if kind.movable]
        search = Moving(tiny, away=False)
        parents: Parents = {tiny.start: None}
        level = [tiny.start]
        for depth in range(most + 1):
            for state in level:
                is_empty = not any(tiny.count(state, kind, node) for kind in movable for node in going)
                if is_empty and self._holds(tiny, state, nodes):
                    return moving.told(tiny, moving.path_to(parents, state))
            if depth == most:
                return None
            if len(parents) > LIMIT:
                self.complete = False
                return None
            level = list(_further(search, level, parents, {*going}))
        return None

    def _holds(self, tiny: TinyCluster, state: State, nodes: Sequence[str]) -> bool:
        """Whether nothing is worse than in the snapshot, with the empty nodes and without them."""
        self._looked_at += 1
        if self._looked_at > LOOKED_AT:
            self.complete = False
            return False
        before = self._tiny.excess(self._tiny.start)
        if any(now > was for now, was in zip(tiny.excess(state), before, strict=True)):
            return False
        if not tiny.lacking(state) <= self._tiny.lacking(self._tiny.start):
            return False
        kept = [item for item in _placed(tiny, state) if not _is_one_of(item, nodes)]
        names = {*nodes}
        objects = [item for item in kept if (item.get("spec") or {}).get("nodeName") not in names]
        left = TinyCluster(objects)
        is_worse = any(left.excess(left.start)) or left.lacking(left.start)
        is_free = self._usable == 1 or self._is_free(left)
        return not is_worse and is_free and (self._accepted is None or self._accepted(objects))

    def _is_free(self, left: TinyCluster) -> bool:
        """Whether as much of every resource is free on all nodes together as was asked for."""
        room, needs = Counter[str](), Counter[str]()
        for node in left.nodes:
            allocatable = node["status"]["allocatable"]
            room.update({name: manifests.amount(str(text)) for name, text in allocatable.items()})
        for pod in (pod for pod in left.pods if pod["spec"].get("nodeName")):
            needs.update({**manifests.asks(pod), "pods": 1000})
        return all(needs[name] <= self._usable * room[name] for name in room | needs)


def _further(search: Moving, level: Sequence[State], parents: Parents, going: set[int]) -> Iterator[State]:
    """The states one move further that are new; nothing comes to a node that goes."""
    for state in level:
        for kind, source, target, after in search.next(state):
            if target not in going and after not in parents:
                parents[after] = state, kind, source, target
                yield after


def _placed(tiny: TinyCluster, state: State) -> Iterator[Object]:
    """The objects with every pod on its node in a state."""
    places = {
        number: [node for node in range(len(tiny.nodes)) for _ in range(tiny.count(state, number, node))]
        for number in range(len(tiny.kinds))
    }
    number_of = {
        name: number
        for number, kind in enumerate(tiny.kinds)
        for names in kind.running.values()
        for name in names
    }
    for item in tiny.objects:
        meta = item.get("metadata") or {}
        number_there = number_of.get(f"{meta.get('namespace')}/{meta.get('name')}")
        if item["kind"] != "Pod" or number_there is None:
            yield item
            continue
        node = tiny.names[places[number_there].pop()]
        yield {**item, "spec": {**item["spec"], "nodeName": node}}


def _goes_along(pod: Object) -> bool:
    """Whether a pod needs no other node when its own goes."""
    owner = manifests.controller(pod)
    return not manifests.is_live(pod) or (owner is not None and owner["kind"] == "DaemonSet")


def _is_one_of(item: Object, nodes: Sequence[str]) -> bool:
    return item["kind"] == "Node" and item["metadata"]["name"] in nodes


def _cordoned(node: Object) -> Object:
    found = copy.deepcopy(node)
    spec = found.setdefault("spec", {})
    spec["unschedulable"] = True
    spec["taints"] = [*(spec.get("taints") or ()), _CORDON]
    return found
