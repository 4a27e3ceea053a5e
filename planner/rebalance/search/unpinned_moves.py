"""Moves that need nothing but the eviction: any node that the scheduler may choose is as good.

A hard spread constraint itself forces a replacement into the domain that lacks one, if the right replica goes
at the right time.  So this picks pods for which the filters leave no other choice; else pods for which all
nodes with the highest score are equally good; only then any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from planner.eviction.protections import Protections
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Ints, Mask
from planner.rebalance.search.evaluation import Distance, EvictionLimits, OffNode, distance
from planner.rebalance.search.greedy import Greedy


class _Rank(NamedTuple):
    """How good a move is, the smaller the better: distance to the goal first, then certainty and cost."""

    far: Distance
    by_scores: bool
    soft: int
    weight: int
    crowded: int
    tight: int
    pod: int
    target: int


def unpinned_moves(
    trial: TrialCluster, movable: Movable, protections: Protections, most: int | None
) -> Sequence[Move]:
    """Such moves in their order, at most `most` if that is given; the trial cluster stays as it is."""
    with trial.after(()):
        return UnpinnedMoves(trial, movable, protections).repair(most)


class UnpinnedMoves:
    """Repairs broken constraints with such moves, and makes them on the trial cluster."""

    def __init__(self, trial: TrialCluster, movable: Movable, protections: Protections) -> None:
        self._trial = trial
        self._movable = movable
        self._kinds = protections.kinds
        self._none = trial.problem.nodes.none
        self._limits = EvictionLimits(trial, movable, protections)
        self._greedy = Greedy(trial, movable, self._limits)

    def repair(self, most: int | None) -> list[Move]:
        """Moves until none is an improvement; where no move is forced, any that helps."""
        moves: list[Move] = []
        while most is None or len(moves) < most:
            broken = self._trial.ledger.broken(self._kinds)
            fresh = [*self._round(broken, None if most is None else most - len(moves))]
            if not fresh:
                fresh = self._greedy.repair(broken[:1], 1)
            if not fresh:
                fresh = next((found for d in broken[1:] if (found := self._greedy.repair([d], 1))), [])
            if not fresh:
                break
            moves += fresh
        return moves

    def _round(self, broken: Sequence[TrackedConstraint], most: int | None) -> Iterator[Move]:
        """At most one move for each of some constraints; they have been made."""
        for number, constraint in enumerate(broken):
            if most is not None and number >= most:
                return
            way = min(self._ways(constraint), default=None) if constraint.excess() else None
            if way is not None:
                move = Move(way.pod, int(self._trial.state.node_of[way.pod]), way.target)
                self._trial.make(move)
                self._limits.remember((move,))
                yield move

    def _ways(self, constraint: TrackedConstraint) -> Iterator[_Rank]:
        """The forced moves that bring a constraint nearer to its goal, from domains with too many."""
        surplus = constraint.surplus()
        for domain in np.flatnonzero(surplus).tolist():
            for pod in self._greedy.candidates(constraint, domain):
                way = self._way(pod)
                if way is not None:
                    yield way

    def _way(self, pod: int) -> _Rank | None:
        """The rank of evicting a pod; None unless all possible landings are equally good."""
        trial, template = self._trial, self._trial.template(pod)
        cared = [d for d in trial.ledger.of(template) if d.rule.constraint.when_unsatisfiable in self._kinds]
        far, crowded = distance(cared), self._crowded(template, int(trial.state.node_of[pod]))
        lifted, found = OffNode(trial, pod), None
        feasible, tops = trial.tops(template) if lifted.is_harmless else (self._none, self._none)
        for by_scores, nodes in enumerate((feasible, tops)):
            reached = self._reached(lifted, nodes, cared)
            if reached is not None and reached < far:
                target = int(np.flatnonzero(tops)[0])
                trial.state.bind(pod, target)
                soft = sum(d.excess() for d in trial.ledger.of(template) if not d.hard)
                weight, many = int(self._movable.weights[pod]), int(nodes.sum())
                found = _Rank(reached, bool(by_scores), soft, weight, -crowded, -many, pod, target)
                break
        lifted.back()
        return found

    def _reached(self, lifted: OffNode, nodes: Mask, cared: Sequence[TrackedConstraint]) -> Distance | None:
        """The distance of constraints from their goal if a pod lands on these nodes; None if nodes differ."""
        found = set[Distance]()
        for node in self._different(nodes, cared):
            if lifted.lands(node, nearer=False) is None:
                return None
            found.add(distance(cared))
            lifted.lift()
        return found.pop() if len(found) == 1 else None

    @staticmethod
    def _different(nodes: Mask, constraints: Sequence[TrackedConstraint]) -> list[int]:
        """One of these nodes for each class that constraints distinguish: by domain, or by its counts."""
        inside = np.flatnonzero(nodes)
        if not inside.size:
            return []
        traits: list[Ints] = []
        for constraint in constraints:
            codes = constraint.rule.column.codes[inside]
            own = len(constraint.rule.column.values) * 2 > len(nodes)
            for counts in (constraint.rule.counts, constraint.held):
                sums = np.append(counts.sums(), 0)
                traits.append((sums[codes] if own else codes).astype(np.int64))
            traits.append(constraint.rule.counts.eligible[inside].astype(np.int64))
        if not traits:
            return [int(inside[0])]
        first = np.unique(np.array(traits), axis=1, return_index=True)[1]
        found: list[int] = inside[np.sort(first)].tolist()
        return found

    def _crowded(self, template: int, node: int) -> int:
        """The pods on a node that count for the constraints of a template."""
        return sum(
            int(constraint.rule.tally.counts[node])
            for constraint in self._trial.ledger.of(template)
            if template in constraint.members
        )
