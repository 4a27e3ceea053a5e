"""Repair where there is next to no room: every pod to the tightest gap, after bystanders have made room.

The room that a pod leaves is the gap for the next one.  Where no gap is large enough in a domain that needs a
pod, one bystander or a few of a node there move to gaps elsewhere; where those are too small for a bystander,
a still smaller pod makes room.  The deepest move comes first, so each move has its room when it is made.
Large pods go first, as long as the gaps are large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Ints, Mask
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Evaluator, EvictionLimits, Found, OffNode
from planner.rebalance.search.exchanges import Exchanges
from planner.rebalance.search.gaps import AlternativeNodes, Openings
from planner.rebalance.search.greedy import Greedy, crowded


class Chained:
    """The neighbourhood of chains: after an exchange, from the start, or after the moves before."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def improve(self, best: Found) -> Found:
        """Better moves as long as something is still broken."""
        it, before = self._evaluator, best[0]
        starts: Sequence[Callable[[], Sequence[Move]]] = (self._exchanged, list, lambda: before)
        for start in starts:
            if best[1]["hardExcess"] == it.floor["hardExcess"] or it.meter.over():
                break
            best = it.best((best, self._after(start())))
        return best

    def _exchanged(self) -> Sequence[Move]:
        """Moves of the broken constraints' own pods, each to a gap that another one leaves."""
        it = self._evaluator
        it.set()
        limits = EvictionLimits(it.trial, it.movable, it.protections)
        return Exchanges(it.trial, it.movable, limits, it.meter).repair(it.still_broken())

    def _after(self, start: Sequence[Move]) -> Found:
        """Some moves, and chains after them."""
        it = self._evaluator
        it.set(start)
        limits = EvictionLimits(it.trial, it.movable, it.protections)
        limits.remember(start)
        stuck = {t for group in it.groups if group.is_broken for t in group.templates}
        chains = Chains(it.trial, it.movable, limits, stuck, it.meter)
        return it.of([*start, *chains.repair(it.still_broken(), it.left(start))])


class Chains:
    """Repairs constraints on a trial cluster with the help of bystanders."""

    def __init__(
        self, trial: TrialCluster, movable: Movable, limits: EvictionLimits, stuck: set[int], meter: Meter
    ) -> None:
        """`stuck` are the templates of broken constraints: their pods do not make room for each other."""
        self._trial = trial
        self._state = trial.state
        self._limits = limits
        self._greedy = Greedy(trial, movable, limits)
        self._meter = meter
        self._elsewhere = AlternativeNodes(trial)
        self._may_go: Mask = movable.weights > 0
        self._may_go[sorted(limits.moved)] = False
        self._may_go[np.isin(trial.problem.template_of, sorted(stuck))] = False
        self._bystander = self._may_go.copy()
        #: For every node the parallel step of its last move, were moves made in parallel; 0 before the first.
        self._steps: Ints = np.zeros(trial.problem.nodes.size, np.int64)
        self._step_of: dict[str, int] = {}
        self._openings = Openings(trial, self._elsewhere, self._may_go, self._steps)
        self._closed: list[int] = []

    def repair(self, constraints: Sequence[TrackedConstraint], most: int | None) -> list[Move]:
        """Moves that bring constraints nearer to their goal, as long as any do; they have been made."""
        classes: dict[int, list[TrackedConstraint]] = {}
        for constraint in constraints:
            classes.setdefault(self._class(constraint), []).append(constraint)
        moves: list[Move] = []
        for depth in range(1, effort.CHAIN_DEPTH + 1):
            for number in sorted(classes, reverse=True):
                moves += self._repair_alike(classes[number], depth, _less(most, moves))
        return moves

    def _class(self, constraint: TrackedConstraint) -> int:
        """The size class of a constraint's pods; pods of a class leave gaps that fit each other."""
        largest = max((float(self._elsewhere.size[template]) for template in constraint.members), default=0.0)
        return math.frexp(largest)[1]

    def _repair_alike(
        self, constraints: Sequence[TrackedConstraint], deepest: int, most: int | None
    ) -> list[Move]:
        moves: list[Move] = []
        for depth in range(deepest + 1):
            waiting = [constraint for constraint in constraints if constraint.excess()]
            if depth and not self._openings.hopeful:
                break
            while waiting:
                improved = []
                for constraint in waiting:
                    found = [] if self._meter.over() else self._better(constraint, depth, _less(most, moves))
                    moves += found
                    if found and constraint.excess():
                        improved.append(constraint)
                waiting = improved
        return moves

    def _better(self, constraint: TrackedConstraint, depth: int, most: int | None) -> list[Move]:
        surplus = constraint.surplus()
        for domain in crowded(constraint):
            for pod in self._greedy.candidates(constraint, domain, self._steps)[: effort.CHAIN_PODS]:
                mark = self._state.mark()
                found = self._place(pod, self._improving(pod), depth, int(surplus[domain]))
                short = most is None or len(found) <= most
                if found and short and self._limits.allow(found):
                    self._remember(found)
                    return found
                self._undo(mark, found)
        return []

    def _remember(self, moves: Sequence[Move]) -> None:
        self._limits.remember(moves)
        self._openings.renew()
        for move in moves:
            workload = self._trial.workloads[self._trial.template(move.pod)]
            nodes = [move.source, move.target]
            step = 1 + max(int(self._steps[nodes].max()), self._step_of.get(workload, 0))
            self._steps[nodes] = self._step_of[workload] = step

    def _undo(self, mark: int, moves: Sequence[Move]) -> None:
        self._state.rollback(mark)
        for move in moves:
            self._may_go[move.pod] = self._bystander[move.pod]

    def _improving(self, pod: int) -> Mask:
        """The nodes that accept a pod, room aside, and on which its constraints are nearer to their goal."""
        groups, good = self._trial.domains(self._trial.template(pod)), self._elsewhere.open_to(pod).copy()
        good[self._state.node_of[pod]] = False
        lifted = OffNode(self._trial, pod)
        nodes = np.flatnonzero(good)
        _, first = np.unique(groups[nodes], return_index=True)
        for node in nodes[first].tolist():
            if lifted.lands(node, nearer=True) is None:
                good &= groups != groups[node]
            else:
                lifted.lift()
        lifted.back()
        return good

    def _place(self, pod: int, good: Mask, depth: int, wanted: int = 1) -> list[Move]:
        """Moves that bring a pod to a good node, after others have made room; none if that fails."""
        template, source = self._trial.template(pod), int(self._state.node_of[pod])
        self._meter.spend(effort.PRICE_OF_TURN + effort.PRICE_OF_NUMBER * len(good))
        good = good.copy()
        good[[source, *self._closed]] = False
        for node in self._gaps(template, good)[: effort.CHAIN_WAYS[0]]:
            straight = self._move(pod, source, node)
            if straight is not None:
                return [straight]
        if not depth or self._meter.over():
            return []
        self._may_go[pod] = False
        together = effort.CHAIN_TOGETHER[depth]
        openings = self._openings.of(template, good, wanted, straight=depth == 1, most=together)
        for node in islice(openings, effort.CHAIN_WAYS[depth]):
            mark = self._state.mark()
            moves = self._open(node, template, depth, wanted)
            last = self._move(pod, source, node) if moves else None
            if last is not None:
                return [*moves, last]
            self._undo(mark, moves)
        self._may_go[pod] = self._bystander[pod]
        return []

    def _open(self, node: int, template: int, depth: int, wanted: int) -> list[Move]:
        """Moves of bystanders off a node until it has room for a pod of a template; none if that fails."""
        mark, moves = self._state.mark(), list[Move]()
        tried: set[int] = set()
        self._closed.append(node)
        while not self._elsewhere.roomy(template)[node]:
            pod = self._openings.bystander(template, node, wanted, straight=depth == 1, tried=tried)
            if pod is None or len(tried) == effort.CHAIN_TOGETHER[depth] or self._meter.over():
                self._undo(mark, moves)
                moves = []
                break
            tried.add(pod)
            moves += self._place(pod, self._elsewhere.open_to(pod), depth - 1)
        self._closed.pop()
        return moves

    def _gaps(self, template: int, good: Mask) -> list[int]:
        """Good nodes with room, the tightest first; of equally tight ones those whose last move is oldest."""
        nodes = np.flatnonzero(good & self._elsewhere.roomy(template))
        spare = self._elsewhere.spare(template, self._elsewhere.free()[:, nodes])
        wants = self._elsewhere.wants[template]
        loose = (spare * effort.CHAIN_TIGHT // wants[wants > 0][:, np.newaxis]).min(axis=0)
        ordered: list[int] = nodes[np.lexsort((nodes, self._steps[nodes], loose))].tolist()
        return ordered

    def _move(self, pod: int, source: int, target: int) -> Move | None:
        """One move, if the filters accept it and it makes nothing worse."""
        move = Move(pod, source, target)
        if not self._trial.attempt(move):
            return None
        self._may_go[pod] = False
        return move


def _less(most: int | None, moves: Sequence[Move]) -> int | None:
    """How many more moves there may be."""
    return None if most is None else most - len(moves)
