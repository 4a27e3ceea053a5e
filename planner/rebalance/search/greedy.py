"""Greedy repair: evict where domains have too many pods, and prefer the node that the scheduler would choose.

The pods of the fullest domain go first.  Where the scheduler's own choice brings the constraint a move nearer
to its goal that choice is taken, since it needs nothing but the eviction; else the node that brings it
nearest.  With room this reaches the counting bound; what it cannot repair is left to the solver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from planner.eviction.protections import Protections
from planner.moves.constraint_counts import TrackedConstraint, excesses, worse
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes, Ints, Mask
from planner.proof import effort

_Key = TypeVar("_Key", int, str)
#: How many constraints no moves can repair, the moves that the others need, and the excess of all.
Distance = tuple[int, int, int]


class Greedy:
    """Repairs broken constraints on a trial cluster, one move after the other."""

    def __init__(self, trial: TrialCluster, movable: Movable, protections: Protections) -> None:
        self._trial = trial
        self._protections = protections
        self._left_nodes: Counter[int] = Counter()
        self._left_namespaces: Counter[str] = Counter()
        self._left_templates: Counter[int] = Counter()
        self._state = trial.state
        self._movable = movable
        self.moved: set[int] = set()

    def repair(
        self, constraints: Iterable[TrackedConstraint], most: int | None, *, natural: bool = False
    ) -> list[Move]:
        """Moves until no move is an improvement, at most `most` if that is given; they have been made.

        With `natural` only the scheduler's own choices are taken.
        """
        moves: list[Move] = []
        waiting = [constraint for constraint in constraints if constraint.excess()]
        while waiting and _may_grow(moves, most):
            improved = []
            for constraint in waiting:
                move = self._better(constraint, natural=natural) if _may_grow(moves, most) else None
                if move is not None:
                    moves.append(move)
                    improved.append(constraint)
            waiting = [constraint for constraint in improved if constraint.excess()]
        return moves

    def _better(self, constraint: TrackedConstraint, *, natural: bool) -> Move | None:
        """A move that brings a constraint nearer to its goal; it has been made."""
        surplus = constraint.surplus()
        for domain in np.argsort(-surplus, kind="stable").tolist():
            if not surplus[domain]:
                break
            for pod in self.candidates(constraint, domain):
                move = self._try(pod, natural=natural)
                if move is not None:
                    self.remember((move,))
                    return move
        return None

    def remember(self, moves: Iterable[Move]) -> None:
        """Count moves against the limits; their pods do not move again."""
        for move in moves:
            self.moved.add(move.pod)
            self._left_nodes[move.source] += 1
            self._left_namespaces[self._trial.problem.pods[move.pod].namespace] += 1
            self._left_templates[self._trial.template(move.pod)] += 1

    def candidates(
        self, constraint: TrackedConstraint, domain: int, steps: Ints | None = None
    ) -> Sequence[int]:
        """Pods that may leave a domain: the cheapest first, then those whose own domains are fullest.

        Of equal pods those first whose nodes have the lowest number in `steps`, if that is given.
        """
        inside = constraint.rule.counts.eligible & (constraint.rule.column.codes == domain)
        found: dict[tuple[int, int], int] = {}
        for template in sorted(constraint.members):
            for pod in self._movable.of(template).tolist():
                node = int(self._state.node_of[pod])
                if (
                    pod in self.moved
                    or node < 0
                    or not inside[node]
                    or not self.bears((Move(pod, node, node),))
                ):
                    continue
                first = found.setdefault((template, node), pod)
                if self._movable.weights[pod] < self._movable.weights[first]:
                    found[template, node] = pod
        keys = {
            pod: (*self._rank(template, node, pod), 0 if steps is None else int(steps[node]), pod)
            for (template, node), pod in found.items()
        }
        return sorted(keys, key=keys.__getitem__)[: effort.PODS_OF_A_DOMAIN]

    def bears(self, moves: Sequence[Move]) -> bool:
        """Whether the policy's limits for each node and namespace, and Jobs, allow these evictions too."""
        rules, pods = self._protections, self._trial.problem.pods
        nodes = Counter(move.source for move in moves)
        namespaces = Counter(pods[move.pod].namespace for move in moves)
        return (
            _within(self._left_nodes, nodes, rules.most_per_node)
            and _within(self._left_namespaces, namespaces, rules.most_per_namespace)
            and all(self._has_left(templates, most, moves) for templates, most in self._movable.quotas)
        )

    def _has_left(self, templates: Collection[int], most: int, moves: Sequence[Move]) -> bool:
        """Whether a Job survives some more evictions."""
        more = sum(self._trial.template(move.pod) in templates for move in moves)
        return not more or sum(self._left_templates[number] for number in templates) + more <= most

    def _rank(self, template: int, node: int, pod: int) -> tuple[int, int, int]:
        counted = {True: 0, False: 0}
        for constraint in self._trial.ledger.of(template):
            code = int(constraint.rule.column.codes[node])
            if code >= 0 and constraint.rule.counts.eligible[node]:
                counted[constraint.hard] += int(constraint.rule.counts.sums()[code])
        return int(self._movable.weights[pod]), -counted[True], -counted[False]

    def _try(self, pod: int, *, natural: bool) -> Move | None:
        """The best move of a pod, if any brings its constraints nearer to their goal."""
        trial, template = self._trial, self._trial.template(pod)
        constraints = [*trial.ledger.of(template)]
        hard = [constraint for constraint in constraints if constraint.hard]
        before, far = excesses(hard), distance(constraints)
        source, mark = int(self._state.node_of[pod]), self._state.mark()
        self._state.unbind(pod)
        if not worse(before, hard) and not trial.breaks_affinity_of(template, source):
            for target in self._targets(template, source, natural=natural):
                inner = self._state.mark()
                self._state.bind(pod, target)
                if not worse(before, hard) and distance(constraints) < far:
                    return Move(pod, source, target)
                self._state.rollback(inner)
        self._state.rollback(mark)
        return None

    def _targets(self, template: int, source: int, *, natural: bool) -> Iterator[int]:
        """The scheduler's own choice first, then the best node of every set of domains."""
        trial = self._trial
        feasible, totals = trial.choice(template)
        if not feasible.count:
            return
        best = feasible.best(totals)
        if best != source:
            yield best
        if natural:
            return
        mask = feasible.mask.copy()
        mask[source] = False
        for node in _best_of_each(trial.domains(template), mask, totals):
            if node != best:
                yield node


def _may_grow(moves: Sequence[Move], most: int | None) -> bool:
    return most is None or len(moves) < most


def _within(before: Counter[_Key], more: Counter[_Key], most: int | None) -> bool:
    return most is None or all(before[key] + number <= most for key, number in more.items())


def _best_of_each(groups: Codes, mask: Mask, totals: Codes) -> Iterator[int]:
    nodes = np.flatnonzero(mask)
    order = nodes[np.lexsort((nodes, -totals[nodes]))]
    _, first = np.unique(groups[order], return_index=True)
    yield from order[np.sort(first)].tolist()


def distance(constraints: Iterable[TrackedConstraint]) -> Distance:
    """How far constraints are from their goal."""
    beyond = needed = excess = 0
    for constraint in constraints:
        over = constraint.excess()
        if over:
            least = constraint.moves_needed(closed=True)
            beyond += least is None
            needed += least or 0
            excess += over
    return beyond, needed, excess
