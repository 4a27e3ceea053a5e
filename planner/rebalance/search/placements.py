"""Placements of the movable pods of a tiny cluster, and the single moves that lead from one to another.

Pods of one template and weight are interchangeable.  A move takes a pod off its node and puts it on any node
that the filters accept then; it may make no hard constraint worse, neither while the pod is away nor
afterwards, and no pod loses an affinity peer that it requires.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from planner.eviction.protections import Protections
from planner.landing.single_landings import SingleLandings
from planner.moves.constraint_counts import excesses
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.rebalance.search.evaluation import EvictionLimits, groups_of

#: The largest count in one byte: no tiny cluster has more pods, nor a plan for it more moves.
_MOST_COUNTED = 255
#: The pods of every kind on every node; then the evictions so far under every limit.
Placement = bytes


@dataclass(frozen=True, slots=True)
class MovableKind:
    """Interchangeable movable pods, and the weight of each of their moves."""

    template: int
    weight: int
    pods: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """The hard excess of a placement by constraint, its soft excess in all, and the least moves left."""

    hard: tuple[int, ...]
    soft: int
    least: int


@dataclass(frozen=True, slots=True)
class PlacementStep:
    """A pod of a kind goes from one node to another."""

    kind: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class _Hole:
    """A placement without one pod: the excess of hard constraints, and the nodes where the pod may land.

    `lonely` are the nodes from which it may not have come: pods there would have lost an affinity peer.
    """

    hard: tuple[int, ...]
    open_to: tuple[int, ...]
    lonely: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Quota:
    """A limit on evictions: where in a placement they are counted, and how many there may be."""

    place: int
    most: int


class Placements:
    """Judges placements, each given as bytes, on a trial cluster of its own."""

    def __init__(
        self,
        trial: TrialCluster,
        movable: Movable,
        protections: Protections,
        landings: SingleLandings | None = None,
    ) -> None:
        """Placements that plans may go through; with `landings` every move is certain to land on its node."""
        self._landings = landings
        self._trial = TrialCluster(trial.problem, trial.part) if landings is None else landings.trial
        self._nodes = trial.problem.nodes.size
        self.kinds = [*_kinds(trial, movable)]
        self._hard = [constraint for constraint in self._trial.ledger.constraints if constraint.hard]
        #: Of constraints that share no movable template a move affects one alone.
        self._groups = [*groups_of(self._trial.ledger, movable, self._hard, hard=True)]
        self._soft = [constraint for constraint in self._trial.ledger.constraints if not constraint.hard]
        self._judge, self._hole = cache(self._judged), cache(self._without_one)
        node_of = trial.problem.node_of
        self._standing = [
            [[pod for pod in kind.pods if node_of[pod] == node] for node in range(self._nodes)]
            for kind in self.kinds
        ]
        self._spare: list[list[int]] = [[] for _ in self.kinds]
        self._now = bytes(len(pods) for rows in self._standing for pods in rows)
        self._quotas = [*self._limits(EvictionLimits(trial, movable, protections))]
        counted = {quota.place for quotas in self._quotas for quota in quotas}
        self.start: Placement = self._now + bytes(len(counted))
        #: How many times the trial cluster was changed to another placement.
        self.looked_at = 0

    def judged(self, placement: Placement) -> Judged:
        """The excess of a placement, and the moves that it still needs."""
        return self._judge(placement[: len(self._now)])

    def _judged(self, counts: bytes) -> Judged:
        self._take(counts)
        needs = (
            max((d.moves_needed(closed=False) or 0 for d in group.constraints if d.excess()), default=0)
            for group in self._groups
        )
        soft = sum(constraint.excess() for constraint in self._soft)
        return Judged(excesses(self._hard), soft, sum(needs))

    def occupied(self, placement: Placement) -> Iterable[int]:
        """The positions in a placement at which pods are counted."""
        return (place for place in range(len(self._now)) if placement[place])

    def steps(
        self, placement: Placement, place: int, *, loose: bool = False
    ) -> Iterator[tuple[PlacementStep, Placement]]:
        """Every single move of a pod counted at position `place`, and the placement it leads to.

        With `loose` a move may make a constraint worse for as long as its pod is away.
        """
        before = self.judged(placement).hard
        kind, source = divmod(place, self._nodes)
        gone = self._evicted(placement, place)
        if gone is None:
            return
        hole = self._hole(gone[: len(self._now)], kind)
        if source in hole.lonely or (not loose and _is_worse(hole.hard, before)):
            return
        for target in hole.open_to:
            if target != source:
                after, step = _with(gone, kind * self._nodes + target, 1), PlacementStep(kind, source, target)
                if not _is_worse(self.judged(after).hard, before) and self._lands(placement, step):
                    yield step, after

    def _lands(self, placement: Placement, step: PlacementStep) -> bool:
        """Whether a replacement is certain to land on this node; always true without `landings`."""
        if self._landings is None:
            return True
        self._take(placement[: len(self._now)])
        pod = self._standing[step.kind][step.source][-1]
        return self._landings.of(Move(pod, step.source, step.target)) is not None

    def named(self, steps: Iterable[PlacementStep]) -> list[Move]:
        """Steps from the start as moves of particular pods."""
        node_of = {pod: int(self._trial.problem.node_of[pod]) for kind in self.kinds for pod in kind.pods}
        moves: list[Move] = []
        for step in steps:
            pod = next(pod for pod in self.kinds[step.kind].pods if node_of[pod] == step.source)
            node_of[pod] = step.target
            moves.append(Move(pod, step.source, step.target))
        return moves

    def _evicted(self, placement: Placement, place: int) -> Placement | None:
        """The placement without one pod; None where a limit on evictions does not allow that."""
        gone = _with(placement, place, -1)
        for quota in self._quotas[place]:
            if gone[quota.place] == quota.most:
                return None
            gone = _with(gone, quota.place, 1)
        return gone

    def _without_one(self, gone: bytes, kind: int) -> _Hole:
        self._take(gone)
        trial, template = self._trial, self.kinds[kind].template
        feasible = trial.framework(template).feasible(trial.plan(template))
        lonely = (node for node in range(self._nodes) if trial.breaks_affinity_of(template, node))
        return _Hole(excesses(self._hard), tuple(np.flatnonzero(feasible.mask).tolist()), frozenset(lonely))

    def _take(self, counts: bytes) -> None:
        """Put the trial cluster into a placement, given as pods of every kind on every node."""
        if counts == self._now:
            return
        self.looked_at += 1
        state, nodes = self._trial.state, self._nodes
        changed = [
            place for place, (now, then) in enumerate(zip(self._now, counts, strict=True)) if now != then
        ]
        for place in changed:
            standing, spare = self._standing[place // nodes][place % nodes], self._spare[place // nodes]
            while len(standing) > counts[place]:
                spare.append(standing.pop())
                state.unbind(spare[-1])
        for place in changed:
            standing, spare = self._standing[place // nodes][place % nodes], self._spare[place // nodes]
            while len(standing) < counts[place]:
                standing.append(spare.pop())
                state.bind(standing[-1], place % nodes)
        state.forget_history()
        self._now = counts

    def _limits(self, limits: EvictionLimits) -> Iterator[list[_Quota]]:
        """For every position at which pods are counted, the limits on evictions from there."""
        places = dict[Hashable, int]()
        for kind in self.kinds:
            for node in range(self._nodes):
                yield [
                    _Quota(len(self._now) + places.setdefault(key, len(places)), min(most, _MOST_COUNTED))
                    for key, most in limits.of(kind.template, node)
                ]


def _kinds(trial: TrialCluster, movable: Movable) -> Iterator[MovableKind]:
    for template in sorted(movable.templates):
        pods = movable.of(template)
        for weight in np.unique(movable.weights[pods]).tolist():
            yield MovableKind(template, weight, tuple(pods[movable.weights[pods] == weight].tolist()))


def _with(placement: Placement, place: int, change: int) -> Placement:
    made = bytearray(placement)
    made[place] += change
    return bytes(made)


def _is_worse(after: Sequence[int], before: Sequence[int]) -> bool:
    return any(now > then for now, then in zip(after, before, strict=True))
