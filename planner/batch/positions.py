"""Where the pods of a small batch are, as one whole number, and which nodes accept which pods then.

A number has a few bits for every node and template: how many of its pods the node holds.  The filters
are asked once for every situation that differs in what they look at: the pods on the node itself, and
those that a filter watches elsewhere.  After that an answer is a look into a table, so that hundreds of
thousands of positions can be gone through.

The same pods on the same nodes may have bound their volume claims differently, depending on the order.
The bits above all nodes say how: a number for every set of bindings that was met.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from planner.batch.pending import Pending
from planner.constraints import Filter
from planner.problem.volume_claims import VolumeChoice
from planner.scheduler.framework import Plan
from planner.scheduler.order import Placement

#: Where the pods of the batch are; 0 when none has a place.
Position = int


class Positions:
    """The batch's templates by rank, and what the filters say about each in any position."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending
        self._state = pending.state
        #: The templates; elsewhere in here a template is its rank in this list.
        self.templates = sorted(pending.wanted)
        self.wanted = [pending.wanted[number] for number in self.templates]
        self._rank = {number: rank for rank, number in enumerate(self.templates)}
        self._nodes = range(pending.problem.nodes.size)
        self._bits = max(self.wanted, default=1).bit_length()
        self._width = self._bits * len(self.templates)
        self._whole_node = (1 << self._width) - 1
        plans = [self._pending.plan(number) for number in self.templates]
        self._near = [[p for p in plan.changing if not self._looks_far(p, plan)] for plan in plans]
        self._far = [[p for p in plan.changing if self._looks_far(p, plan)] for plan in plans]
        self._static = [np.flatnonzero(plan.static).tolist() for plan in plans]
        self._watched = [self._mask(far, plan) for far, plan in zip(self._far, plans, strict=True)]
        self._open: list[dict[Position, list[int]]] = [{} for _ in self.templates]
        self._room: list[list[dict[Position, int]]] = [[{} for _ in self._nodes] for _ in self.templates]
        self._above = self._width * len(self._nodes)
        self._claims = [self._state.claims.unbound(plan.template.pod) for plan in plans]
        self._bindings: list[tuple[VolumeChoice, ...]] = [()]
        self._number: dict[frozenset[VolumeChoice], int] = {frozenset(): 0}
        self._then: dict[tuple[int, int, int], int] = {}
        self._mark = self._state.mark()
        self._stands: Position = 0

    def _looks_far(self, plugin: Filter, plan: Plan) -> bool:
        """Whether pods of the batch on other nodes can change what a filter says."""
        watched = plugin.watches(plan.template)
        return watched is None or any(number in self._rank for number in watched)

    def _mask(self, plugins: Sequence[Filter], plan: Plan) -> Position:
        """The bits of all that some filters look at, but for the node that is asked about."""
        ranks: set[int] = set()
        for plugin in plugins:
            watched = plugin.watches(plan.template)
            if watched is None:
                return -1
            ranks |= {self._rank[number] for number in watched if number in self._rank}
        most = (1 << self._bits) - 1
        return sum(most * self.one(rank, node) for rank in ranks for node in self._nodes)

    def one(self, rank: int, node: int) -> Position:
        """One pod on a node and none elsewhere: to be added to a position, or taken from it."""
        return 1 << (node * self._width + rank * self._bits)

    def after(self, position: Position, rank: int, node: int) -> Position:
        """The position once one more pod has come to a node, and has bound its claims there."""
        there = position + self.one(rank, node)
        if not self._claims[rank]:
            return there
        before = position >> self._above
        then = self._then.get((before, rank, node))
        if then is None:
            then = self._then[before, rank, node] = self._bind_claims(position, rank, node)
        return there + ((then - before) << self._above)

    def _bind_claims(self, position: Position, rank: int, node: int) -> int:
        """The number of the bindings after a pod of a template has come to a node."""
        self.stand(position)
        claims, pod = self._state.claims, self._pending.template(self.templates[rank]).pod
        bindings = (*claims.bindings, *claims.choose(pod, node))
        number = self._number.setdefault(frozenset(bindings), len(self._bindings))
        if number == len(self._bindings):
            self._bindings.append(bindings)
        return number

    def of(self, placement: Placement) -> Position:
        return sum(pods * self.one(self._rank[number], node) for (number, node), pods in placement.items())

    def placement(self, position: Position) -> Iterator[tuple[int, int, int]]:
        """The rank, the node and the number of pods of every entry in a position."""
        most = (1 << self._bits) - 1
        for node in self._nodes:
            here = position >> node * self._width & self._whole_node
            rank = 0
            while here:
                if here & most:
                    yield rank, node, here & most
                here >>= self._bits
                rank += 1

    def accepting(self, rank: int, position: Position) -> list[int]:
        key = position & self._watched[rank]
        far = self._open[rank].get(key)
        if far is None:
            far = self._open[rank][key] = self._ask_far(rank, position)
        return [node for node in far if self.room(rank, node, position)]

    def room(self, rank: int, node: int, position: Position) -> int:
        """At most so many more pods the node itself takes, whatever comes meanwhile."""
        here = position >> node * self._width & self._whole_node
        room = self._room[rank][node].get(here)
        if room is None:
            room = self._room[rank][node][here] = self._ask_near(rank, node, position)
        return room

    def capacity(self, rank: int, position: Position) -> int:
        """At most so many more pods of a template find a node, whatever comes meanwhile."""
        return sum(self.room(rank, node, position) for node in self._static[rank])

    def _ask_far(self, rank: int, position: Position) -> list[int]:
        self.stand(position)
        template = self._pending.template(self.templates[rank])
        nodes = np.array(self._static[rank], np.intp)
        for plugin in self._far[rank]:
            if nodes.size:
                nodes = nodes[plugin.reject(template, nodes) == 0]
        found: list[int] = nodes.tolist()
        return found

    def _ask_near(self, rank: int, node: int, position: Position) -> int:
        self.stand(position)
        template, room = self._pending.template(self.templates[rank]), self.wanted[rank]
        for plugin in self._near[rank]:
            if not plugin.admits(template, node):
                return 0
            most = plugin.most(template, self._pending.wanted)
            room = room if most is None else min(room, int(most[node]))
        return room

    def stand(self, position: Position) -> None:
        """Bring the pods of the batch to where a position has them."""
        if position == self._stands:
            return
        self.leave()
        self._state.claims.bind(self._bindings[position >> self._above])
        for rank, node, pods in self.placement(position):
            for pod in self._pods(rank, pods):
                self._state.bind(pod, node)
        self._stands = position

    def _pods(self, rank: int, pods: int) -> list[int]:
        """So many pods of a template without a node; which does not matter."""
        every = self._pending.every[self.templates[rank]]
        return [pod for pod in every if self._state.node_of[pod] < 0][:pods]

    def leave(self) -> None:
        """Take all pods of the batch off their nodes."""
        self._state.rollback(self._mark)
        self._state.claims.forget(len(self._bindings[self._stands >> self._above]))
        self._stands = 0
