"""Room where there is none: bystanders move over, smaller ones for larger ones, until a pod fits.

A pod that is to come to a full node needs what that node lacks.  The bystander there that just covers
the lack goes elsewhere; where it fits nowhere either, a still smaller one makes room for it.  The
deepest move comes first, so every one of them has its room at its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from planner.constraints.node_resources import NodeResourcesFit
from planner.nodes import Ints, Mask
from planner.rebalance.board import Board, Move
from planner.rebalance.greedy import Greedy
from planner.rebalance.ledger import Demand, levels, worse
from planner.rebalance.movable import Movable

#: How many pods move over for each other at most, and how many nodes are tried for each.
_DEPTH, _NODES = 4, (16, 6, 3, 2)
#: For every node that is tried, so many are looked at.
_GLANCES = 8


class Chains:
    """Mends constraints on a board with the help of bystanders."""

    def __init__(
        self, board: Board, movable: Movable, greedy: Greedy, stuck: set[int], is_over: Callable[[], bool]
    ) -> None:
        self._board = board
        self._state = board.state
        self._movable = movable
        self._greedy = greedy
        self._is_over = is_over
        template_of = board.problem.template_of
        self._free_to_go = movable.weights > 0
        for template in stuck:
            self._free_to_go[template_of == template] = False
        sizes = np.array([t.requests for t in board.problem.templates], np.int64)
        scale = 1.0 / np.maximum(board.problem.allocatable.max(axis=1), 1)
        self._requests = sizes
        self._size = (sizes * scale).max(axis=1)
        self._hopeless: set[int] = set()

    def size(self, demand: Demand) -> float:
        """How large the pods of a constraint are."""
        return max((float(self._size[template]) for template in demand.members), default=0.0)

    def mend(self, demand: Demand, most: int) -> list[Move]:
        """Moves that bring a constraint nearer to its goal, as long as any do; they have happened."""
        moves: list[Move] = []
        while demand.excess() and not self._is_over():
            found = self._better(demand)
            if not found or len(moves) + len(found) > most:
                break
            moves += found
        return moves

    def _better(self, demand: Demand) -> list[Move]:
        surplus = demand.surplus()
        for domain in np.argsort(-surplus, kind="stable").tolist():
            if not surplus[domain]:
                return []
            for pod in self._greedy.candidates(demand, domain)[:1]:
                mark, before = self._state.mark(), demand.excess()
                self._hopeless.clear()
                found = self._relocate(pod, _DEPTH)
                if found and demand.excess() < before:
                    self._greedy.remember(found)
                    return found
                self._state.rollback(mark)
        return []

    def _relocate(self, pod: int, depth: int) -> list[Move]:
        """A pod to some other node, others out of its way first; nothing happens where that fails."""
        template, source = self._board.template(pod), int(self._state.node_of[pod])
        straight = self._straight(pod, source)
        if straight is not None:
            return [straight]
        if depth == 0 or self._is_over():
            return []
        for target in self._nearly(pod, template, source, _NODES[_DEPTH - depth]):
            mark = self._state.mark()
            moves = self._open(template, target, depth)
            last = self._move(pod, source, target) if moves else None
            if last is not None:
                return [*moves, last]
            self._state.rollback(mark)
        return []

    def _straight(self, pod: int, source: int) -> Move | None:
        """The scheduler's own choice for a pod, if there is any."""
        mark, template = self._state.mark(), self._board.template(pod)
        self._state.unbind(pod)
        feasible, totals = self._board.choice(template)
        mask = feasible.mask.copy()
        mask[source] = False
        nodes = np.flatnonzero(mask)
        self._state.rollback(mark)
        if not nodes.size:
            return None
        return self._move(pod, source, int(nodes[totals[nodes].argmax()]))

    def _move(self, pod: int, source: int, target: int) -> Move | None:
        """One move, if the filters accept it and nothing gets worse by it."""
        board, template = self._board, self._board.template(pod)
        demands, mark = board.ledger.touched((template,)), self._state.mark()
        before = levels(demands)
        self._state.unbind(pod)
        if (
            not worse(before, demands)
            and not board.forsakes(template, source)
            and board.accepts(template, target)
        ):
            self._state.bind(pod, target)
            if not worse(before, demands):
                return Move(pod, source, target)
        self._state.rollback(mark)
        return None

    def _nearly(self, pod: int, template: int, source: int, most: int) -> list[int]:
        """The nodes that refuse a pod for want of room alone, those that lack least first."""
        mark = self._state.mark()
        self._state.unbind(pod)
        mask = self._accepted_but_for_room(template)
        self._state.rollback(mark)
        mask[source] = False
        lack = self._lack(template)
        problem = self._board.problem
        scale = 1.0 / np.maximum(problem.allocatable.max(axis=1), 1)
        short = (np.maximum(lack, 0) * scale[:, np.newaxis]).max(axis=0)
        nodes = np.flatnonzero(mask)
        nearest = nodes[np.lexsort((nodes, short[nodes]))][: _GLANCES * most].tolist()
        return [node for node in nearest if any(self._covering(template, node, lack[:, node]))][:most]

    def _accepted_but_for_room(self, template: int) -> Mask:
        plan = self._board.plan(template)
        mask = plan.settled.copy()
        for plugin in plan.changing:
            if not isinstance(plugin, NodeResourcesFit):
                mask &= plugin.reject(plan.template) == 0
        return mask

    def _lack(self, template: int) -> Ints:
        """A row for every resource: what each node lacks to take a pod, of what it asks for."""
        problem, wanted = self._board.problem, self._requests[template][:, np.newaxis]
        missing: Ints = np.where(wanted > 0, wanted - (problem.allocatable - self._state.used), 0)
        return missing

    def _open(self, template: int, node: int, depth: int) -> list[Move]:
        """Moves after which a pod of a template has room on a node."""
        for other in self._covering(template, node, self._lack(template)[:, node]):
            self._free_to_go[other] = False
            moves = self._relocate(other, depth - 1)
            if moves:
                return moves
            self._free_to_go[other] = True
            self._hopeless.add(self._board.template(other))
        return []

    def _covering(self, template: int, node: int, lack: Ints) -> Iterator[int]:
        """The bystanders on a node that hold what is lacking there, the smallest first, of every kind one."""
        kinds: dict[int, int] = {}
        for pod in self._state.pods_on[node]:
            kind = self._board.template(pod)
            may_go = self._free_to_go[pod] and kind not in self._hopeless and kind != template
            if may_go and self._size[kind] <= self._size[template] and (self._requests[kind] >= lack).all():
                kinds.setdefault(kind, pod)
        ordered = sorted(kinds, key=lambda kind: (self._size[kind], kind))
        yield from (kinds[kind] for kind in ordered[:3])
