"""As the scheduler would: evict where domains have too many pods, and prefer the node that it would choose.

The pods of the fullest domain go first.  Where the scheduler's own choice brings the constraint a move nearer
to its goal that choice is taken, since it needs nothing but the eviction; else the node that brings it
nearest.  With room this reaches the counting bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof import effort
from planner.rebalance.search.evaluation import Distance, Evaluator, EvictionLimits, Found, OffNode, distance

__all__ = ["AsScheduled", "Distance", "Greedy", "distance"]


class AsScheduled:
    """The neighbourhood of moves that the scheduler makes by itself, or nearly so."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def improve(self, best: Found) -> Found:
        """The moves that repair what is broken one by one."""
        del best
        it = self._evaluator
        limits = EvictionLimits(it.trial, it.movable, it.protections)
        broken = it.trial.ledger.broken(it.protections.kinds)
        greedy = Greedy(it.trial, it.movable, limits)
        return it.of(greedy.repair(broken, it.most))


class Greedy:
    """Repairs broken constraints on a trial cluster, one move after the other."""

    def __init__(self, trial: TrialCluster, movable: Movable, limits: EvictionLimits) -> None:
        self._trial = trial
        self._state = trial.state
        self._movable = movable
        self.limits = limits

    def repair(self, constraints: Iterable[TrackedConstraint], most: int | None) -> list[Move]:
        """Moves until no move is an improvement, at most `most` if that is given; they have been made."""
        moves: list[Move] = []
        waiting = [constraint for constraint in constraints if constraint.excess()]
        while waiting and _may_grow(moves, most):
            improved = []
            for constraint in waiting:
                move = self._better(constraint) if _may_grow(moves, most) else None
                if move is not None:
                    moves.append(move)
                    improved.append(constraint)
            waiting = [constraint for constraint in improved if constraint.excess()]
        return moves

    def _better(self, constraint: TrackedConstraint) -> Move | None:
        """A move that brings a constraint nearer to its goal; it has been made."""
        for domain in crowded(constraint):
            for pod in self.candidates(constraint, domain):
                move = self._try(pod)
                if move is not None:
                    self.limits.remember((move,))
                    return move
        return None

    def candidates(
        self, constraint: TrackedConstraint, domain: int, steps: Ints | None = None
    ) -> Sequence[int]:
        """Pods that may leave a domain: the cheapest first, then those whose own domains are fullest.

        Of equal pods those first whose nodes have the lowest number in `steps`, if that is given.
        """
        inside = constraint.rule.counts.eligible & (constraint.rule.column.codes == domain)
        found: dict[tuple[int, int], int] = {}
        for template in sorted(constraint.members):
            pods = self._movable.of(template)
            nodes = self._state.node_of[pods]
            here = (nodes >= 0) & inside[nodes]
            for pod, node in zip(pods[here].tolist(), nodes[here].tolist(), strict=True):
                first = found.get((template, node))
                if pod in self.limits.moved or not self.limits.allow((Move(pod, node, node),)):
                    continue
                if first is None or self._movable.weights[pod] < self._movable.weights[first]:
                    found[template, node] = pod
        keys = {
            pod: (*self._rank(template, node, pod), 0 if steps is None else int(steps[node]), pod)
            for (template, node), pod in found.items()
        }
        return sorted(keys, key=keys.__getitem__)[: effort.PODS_OF_A_DOMAIN]

    def _rank(self, template: int, node: int, pod: int) -> tuple[int, int, int]:
        counted = {True: 0, False: 0}
        for constraint in self._trial.ledger.of(template):
            code = int(constraint.rule.column.codes[node])
            if code >= 0 and constraint.rule.counts.eligible[node]:
                counted[constraint.hard] += int(constraint.rule.counts.sums()[code])
        return int(self._movable.weights[pod]), -counted[True], -counted[False]

    def _try(self, pod: int) -> Move | None:
        """The best move of a pod, if any brings its constraints nearer to their goal."""
        source, lifted = int(self._state.node_of[pod]), OffNode(self._trial, pod)
        if lifted.is_harmless:
            for target in self._targets(self._trial.template(pod), source):
                move = lifted.lands(target, nearer=True)
                if move is not None:
                    return move
        lifted.back()
        return None

    def _targets(self, template: int, source: int) -> Iterator[int]:
        """The scheduler's own choice first, then the best node of every set of domains."""
        feasible, totals = self._trial.choice(template)
        if not feasible.count:
            return
        best = feasible.best(totals)
        if best != source:
            yield best
        mask = feasible.mask.copy()
        mask[source] = False
        for node in _best_of_each(self._trial.domains(template), mask, totals):
            if node != best:
                yield node


def crowded(constraint: TrackedConstraint) -> Iterator[int]:
    """The domains with too many pods now, the fullest first."""
    surplus = constraint.surplus()
    order = np.argsort(-surplus, kind="stable")
    yield from order[: np.count_nonzero(surplus)].tolist()


def _may_grow(moves: Sequence[Move], most: int | None) -> bool:
    return most is None or len(moves) < most


def _best_of_each(groups: Codes, mask: Mask, totals: Codes) -> Iterator[int]:
    nodes = np.flatnonzero(mask)
    order = nodes[np.lexsort((nodes, -totals[nodes]))]
    _, first = np.unique(groups[order], return_index=True)
    yield from order[np.sort(first)].tolist()
