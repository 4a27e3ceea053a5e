"""One move after the other: as the scheduler would, or such that nothing but the eviction is needed.

`Greedy` evicts where domains have too many pods, those of the fullest domain first, where the scheduler's own
choice brings the constraint a move nearer to its goal.  With room this reaches the counting bound.

`UnpinnedMoves`: a hard spread constraint itself forces a replacement into the domain that lacks one, if the
right replica goes at the right time.  So pods go for which the filters leave no other choice; else pods for
which all nodes with the highest score are equally good; only then any other.  Without these moves 3 pods more
stay too many in 338 clusters, and 2 more are pinned; `outage-901` keeps 45 too many for soft ones, not 5.

`FewMoves`, where only so many may be made: of moves that repair everything the first ones of each group of
constraints.  Groups share no movable pods, so what the first moves of each reach adds up.  Of 29 moves that
repair 100 nodes the best 25 leave 4 pods too many, where moves made in turns left 11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import Move
from planner.problem.node_groups import numbered
from planner.problem.nodes import Ints, Mask
from planner.proof import move_effort as effort
from planner.rebalance.search.evaluation import Distance, Evaluator, EvictionLimits, Found, OffNode, distance

#: A hard pod too many counts as so many soft ones.
_SOFT_PER_HARD = 1 << 32


def repaired_by_few(evaluator: Evaluator, best: Found) -> Found:
    """The neighbourhood of moves that the scheduler makes by itself, put to the best use where few may be."""
    found = repaired_one_by_one(evaluator, best)
    if evaluator.most is None:
        return found
    evaluator.set()
    unlimited = Evaluator(evaluator.trial, evaluator.movable, evaluator.protections, evaluator.meter)
    moves, _ = repaired_one_by_one(unlimited, best)
    return evaluator.best((found, FewMoves.of(evaluator, moves).at_most(evaluator.most)))


def repaired_one_by_one(evaluator: Evaluator, best: Found) -> Found:
    """The neighbourhood of moves that the scheduler makes by itself, or nearly so, one after the other."""
    del best
    greedy, broken = Greedy(evaluator), evaluator.trial.ledger.broken(evaluator.protections.kinds)
    # Soft constraints would take moves that hard ones need, where only so many are allowed.
    hard = [constraint for constraint in broken if constraint.hard]
    return evaluator.of([*greedy.moves(hard), *greedy.moves(broken)])


class Greedy:
    """Moves that the scheduler makes by itself, or nearly so; each repairs a part of what is broken."""

    def __init__(self, evaluator: Evaluator, limits: EvictionLimits | None = None) -> None:
        self._trial = evaluator.trial
        self._state = evaluator.trial.state
        self._movable = evaluator.movable
        self.limits = evaluator.limits() if limits is None else limits

    def moves(self, constraints: Iterable[TrackedConstraint]) -> Iterator[Move]:
        """Moves until no move is an improvement; each is made when it is asked for."""
        return in_turns(constraints, self._better)

    def _better(self, constraint: TrackedConstraint) -> Sequence[Move]:
        """A move that brings a constraint nearer to its goal; it has been made."""
        for pod in self.leaving(constraint):
            move = self._try(pod)
            if move is not None:
                self.limits.remember((move,))
                return [move]
        return []

    def leaving(self, constraint: TrackedConstraint) -> Iterator[int]:
        """Pods that may leave the domains with too many now, those of the fullest first."""
        for domain in surplus_domains(constraint):
            yield from self.candidates(constraint, domain)

    def candidates(self, constraint: TrackedConstraint, domain: int) -> Sequence[int]:
        """Pods that may leave a domain: the cheapest first, then those whose own domains are fullest."""
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
        keys = {pod: (*self._rank(template, node, pod), pod) for (template, node), pod in found.items()}
        return sorted(keys, key=keys.__getitem__)[: effort.PODS_OF_A_DOMAIN]

    def _rank(self, template: int, node: int, pod: int) -> tuple[int, int, int]:
        counted = {True: 0, False: 0}
        for constraint in self._trial.ledger.of(template):
            code = int(constraint.rule.column.codes[node])
            if code >= 0 and constraint.rule.counts.eligible[node]:
                counted[constraint.hard] += int(constraint.rule.counts.sums()[code])
        return int(self._movable.weights[pod]), -counted[True], -counted[False]

    def _try(self, pod: int) -> Move | None:
        """A pod's move to the scheduler's own choice, if that brings its constraints nearer to their goal."""
        source, lifted = int(self._state.node_of[pod]), OffNode(self._trial, pod)
        if lifted.is_harmless:
            feasible, totals = self._trial.choice(self._trial.template(pod))
            target = feasible.best(totals) if feasible.count else source
            move = None if target == source else lifted.lands(target, nearer=True)
            if move is not None:
                return move
        lifted.back()
        return None


def in_turns(
    constraints: Iterable[TrackedConstraint], better: Callable[[TrackedConstraint], Sequence[Move]]
) -> Iterator[Move]:
    """What is `better` for each of some broken constraints, in turns until nothing is."""
    waiting = [constraint for constraint in constraints if constraint.excess()]
    while waiting:
        improved = []
        for constraint in waiting:
            if found := better(constraint):
                yield from found
                improved.append(constraint)
        waiting = [constraint for constraint in improved if constraint.excess()]


def surplus_domains(constraint: TrackedConstraint) -> Iterator[int]:
    """The domains with too many pods now, the fullest first."""
    surplus = constraint.surplus()
    order = np.argsort(-surplus, kind="stable")
    yield from order[: np.count_nonzero(surplus)].tolist()


#: How good a move is, the smaller the better: how far from the goal its constraints are then, whether scores
#: decide, soft excess, weight, how few nodes it may come to (negative), the pod, and its target.
_Rank = tuple[Distance, bool, int, int, int, int, int]


def unpinned_moves(evaluator: Evaluator) -> Sequence[Move]:
    """Moves whose replacements land right without a pin, in their order; the trial cluster stays as it is."""
    with evaluator.trial.after():
        return [*UnpinnedMoves(evaluator).moves()]


class UnpinnedMoves:
    """Repairs broken constraints with moves whose replacements land right without a pin."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._trial = evaluator.trial
        self._movable = evaluator.movable
        self._kinds = evaluator.protections.kinds
        self._none = evaluator.trial.problem.nodes.none
        self._greedy = Greedy(evaluator)

    def moves(self) -> Iterator[Move]:
        """Moves until none is an improvement, each made when it is asked for; any where no move is forced."""
        while broken := self._trial.ledger.broken(self._kinds):
            helping = chain.from_iterable(self._greedy.moves([one]) for one in broken)
            made = [*self._round(broken)] or [*islice(helping, 1)]
            if not made:
                return
            yield from made

    def _round(self, broken: Iterable[TrackedConstraint]) -> Iterator[Move]:
        """At most one move for each of some constraints."""
        for constraint in broken:
            # The forced moves that bring it nearer to its goal.
            ways = filter(None, map(self._way, self._greedy.leaving(constraint)))
            way = min(ways, default=None) if constraint.excess() else None
            if way is not None:
                *_, pod, target = way
                move = Move(pod, int(self._trial.state.node_of[pod]), target)
                self._trial.make(move)
                self._greedy.limits.remember((move,))
                yield move

    def _way(self, pod: int) -> _Rank | None:
        """The rank of evicting a pod; None unless all possible landings are equally good."""
        trial, template = self._trial, self._trial.template(pod)
        cared = [one for one in trial.ledger.of(template) if one.kind in self._kinds]
        far, lifted = distance(cared), OffNode(trial, pod)
        found: _Rank | None = None
        feasible, tops = trial.tops(template) if lifted.is_harmless else (self._none, self._none)
        for by_scores, nodes in enumerate((feasible, tops)):
            reached = self._reached(lifted, nodes, cared)
            if reached is not None and reached < far:
                target = int(np.flatnonzero(tops)[0])
                trial.state.bind(pod, target)
                soft = sum(one.excess() for one in trial.ledger.of(template) if not one.hard)
                weight, many = int(self._movable.weights[pod]), int(nodes.sum())
                found = reached, bool(by_scores), soft, weight, -many, pod, target
                break
        lifted.back()
        return found

    def _reached(self, lifted: OffNode, nodes: Mask, cared: Sequence[TrackedConstraint]) -> Distance | None:
        """The distance of constraints from their goal if a pod lands on these nodes; None if nodes differ."""
        found = set[Distance]()
        for node in _different(nodes, cared):
            if lifted.lands(node, nearer=False) is None:
                return None
            found.add(distance(cared))
            lifted.lift()
        return found.pop() if len(found) == 1 else None


def _different(nodes: Mask, constraints: Iterable[TrackedConstraint]) -> list[int]:
    """One of these nodes for each class that constraints distinguish: by domain, or by its counts."""
    traits: list[Ints | Mask] = []
    for constraint in constraints:
        codes = constraint.rule.column.codes
        own = len(constraint.rule.column.values) * 2 > len(nodes)
        sums = (counts.padded()[codes] for counts in (constraint.rule.counts, constraint.held))
        traits += [constraint.rule.counts.eligible, *(sums if own else (codes,))]
    inside = np.flatnonzero(nodes)
    first = np.unique(numbered(len(nodes), traits)[inside], return_index=True)[1]
    found: list[int] = inside[np.sort(first)].tolist()
    return found


@dataclass(frozen=True, slots=True)
class FewMoves:
    """Moves in their order, by group, and for every number of moves how many of a group are the best use."""

    evaluator: Evaluator
    by_group: Sequence[Sequence[Move]]
    chosen: Sequence[Ints]

    @classmethod
    def of(cls, evaluator: Evaluator, moves: Sequence[Move]) -> FewMoves:
        """From moves that hold in their order."""
        group_of = {
            template: number for number, group in enumerate(evaluator.groups) for template in group.templates
        }
        by_group: list[list[Move]] = [[] for _ in evaluator.groups]
        for move in moves:
            if (number := group_of.get(evaluator.trial.template(move.pod))) is not None:
                by_group[number].append(move)
        gain, chosen = np.zeros(len(moves) + 1, np.int64), list[Ints]()
        for group in by_group:
            reached = np.array([*_gains(evaluator, group)], np.int64)
            ways = np.full((len(reached), len(gain)), -1, np.int64)
            for number, more in enumerate(reached.tolist()):
                ways[number, number:] = gain[: len(gain) - number] + more
            gain, best = ways.max(axis=0), ways.argmax(axis=0)
            chosen.append(best)
        evaluator.set()
        return cls(evaluator, by_group, chosen)

    def at_most(self, most: int) -> Found:
        """So many moves, those that reach the most, each where it is allowed; the trial is left as it was."""
        left, made = min(most, len(self.chosen[0]) - 1) if self.chosen else 0, list[Move]()
        for group, chosen in zip(reversed(self.by_group), reversed(self.chosen), strict=True):
            made = [*group[: chosen[left]], *made]
            left -= int(chosen[left])
        self.evaluator.set()
        limits, trial = self.evaluator.limits(), self.evaluator.trial
        done = list[Move]()
        for move in made:
            # A pod that moves on from where it did not come to stays.
            comes = trial.state.node_of[move.pod] == move.source
            if comes and limits.allow((move,)) and trial.attempt(move):
                limits.remember((move,))
                done.append(move)
        found = self.evaluator.of(done)
        self.evaluator.set()
        return found


def _gains(evaluator: Evaluator, moves: Sequence[Move]) -> Iterator[int]:
    """By how much fewer pods are too many after none, one, ... of some moves."""
    evaluator.set()
    ledger = evaluator.trial.ledger

    def excess() -> int:
        return ledger.excess(hard=True) * _SOFT_PER_HARD + ledger.excess(hard=False)

    before = excess()
    yield 0
    for move in moves:
        evaluator.trial.make(move)
        yield before - excess()
