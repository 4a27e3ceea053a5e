"""Repair where there is next to no room: every pod to the tightest gap, after bystanders have made room.

The room that a pod leaves is the gap for the next one.  Where no gap is large enough in a domain that needs a
pod, bystanders of one node there move to gaps elsewhere first, so each move has its room when it is made.
Large pods go first, as long as the gaps are large.

Bystanders that make room for bystanders, up to three deep, changed no total on clusters 99 % full; nor did
nodes that were opened for several pods at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Mask
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Evaluator, EvictionLimits, Found, OffNode
from planner.rebalance.search.exchanges import Exchanges
from planner.rebalance.search.gaps import AlternativeNodes, Openings
from planner.rebalance.search.greedy import Greedy, crowded


class Chained:
    """The neighbourhood of chains: after an exchange, or after the moves before."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def improve(self, best: Found) -> Found:
        """Better moves as long as something is still broken."""
        it, before = self._evaluator, best[0]
        starts: Sequence[Callable[[], Sequence[Move]]] = (self._exchanged, lambda: before)
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
        self._openings = Openings(trial, self._elsewhere, self._may_go)

    def repair(self, constraints: Sequence[TrackedConstraint], most: int | None) -> list[Move]:
        """Moves that bring constraints nearer to their goal, as long as any do; they have been made."""
        classes: dict[int, list[TrackedConstraint]] = {}
        for constraint in constraints:
            classes.setdefault(self._class(constraint), []).append(constraint)
        moves: list[Move] = []
        for number in sorted(classes, reverse=True):
            for opens in (False, True):
                waiting = [constraint for constraint in classes[number] if constraint.excess()]
                while waiting:
                    improved = []
                    for constraint in waiting:
                        left = None if most is None else most - len(moves)
                        found = [] if self._meter.over() else self._better(constraint, left, opens=opens)
                        moves += found
                        if found and constraint.excess():
                            improved.append(constraint)
                    waiting = improved
        return moves

    def _class(self, constraint: TrackedConstraint) -> int:
        """The size class of a constraint's pods; pods of a class leave gaps that fit each other."""
        largest = max((float(self._elsewhere.size[template]) for template in constraint.members), default=0.0)
        return math.frexp(largest)[1]

    def _better(self, constraint: TrackedConstraint, most: int | None, *, opens: bool) -> list[Move]:
        """A move that brings a constraint nearer to its goal; with `opens` bystanders make room before it."""
        for domain in crowded(constraint):
            for pod in self._greedy.candidates(constraint, domain)[: effort.CHAIN_PODS]:
                mark, good = self._state.mark(), self._improving(pod)
                found = self._into_gap(pod, good) or (self._opened(pod, good) if opens else [])
                if found and (most is None or len(found) <= most) and self._limits.allow(found):
                    self._limits.remember(found)
                    self._openings.renew()
                    return found
                self._undo(mark, found)
        return []

    def _undo(self, mark: int, moves: Sequence[Move]) -> None:
        self._state.rollback(mark)
        self._may_go[[move.pod for move in moves if self._openings.is_bystander[move.pod]]] = True

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

    def _into_gap(self, pod: int, good: Mask, closed: int = -1) -> list[Move]:
        """A move of a pod to a good node with room, the tightest first; none where that fails."""
        template, source = self._trial.template(pod), int(self._state.node_of[pod])
        self._meter.spend(effort.PRICE_OF_TURN + effort.PRICE_OF_NUMBER * len(good))
        nodes = np.flatnonzero(good & self._elsewhere.roomy(template))
        nodes = nodes[(nodes != source) & (nodes != closed)]
        spare = self._elsewhere.spare(template, self._elsewhere.free()[:, nodes])
        wants = self._elsewhere.wants[template]
        loose = (spare * effort.CHAIN_TIGHT // wants[wants > 0][:, np.newaxis]).min(axis=0)
        for node in nodes[np.lexsort((nodes, loose))][: effort.CHAIN_GAPS].tolist():
            move = Move(pod, source, node)
            if self._trial.attempt(move):
                self._may_go[pod] = False
                return [move]
        return []

    def _opened(self, pod: int, good: Mask) -> list[Move]:
        """Moves of bystanders off a good node, and the pod's move there; none if that fails."""
        template, source = self._trial.template(pod), int(self._state.node_of[pod])
        if self._meter.over():
            return []
        for node in islice(self._openings.of(template, good, source), effort.CHAIN_OPENED):
            mark = self._state.mark()
            moves = self._open(node, template)
            if moves and self._trial.attempt(Move(pod, source, node)):
                return [*moves, Move(pod, source, node)]
            self._undo(mark, moves)
        return []

    def _open(self, node: int, template: int) -> list[Move]:
        """Moves of bystanders off a node until it has room for a pod of a template; none if that fails."""
        mark, moves = self._state.mark(), list[Move]()
        tried: set[int] = set()
        while not self._elsewhere.roomy(template)[node]:
            pod = self._openings.bystander(template, node, tried)
            if pod is None or len(tried) == effort.CHAIN_TOGETHER or self._meter.over():
                self._undo(mark, moves)
                return []
            tried.add(pod)
            moves += self._into_gap(pod, self._elsewhere.open_to(pod), closed=node)
        return moves
