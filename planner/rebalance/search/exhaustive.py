"""Breadth-first search over all placements that single moves reach: the best in a tiny cluster, with proof.

A plan whose moves overlap, and which holds whichever of them ends first, can also be made one move after the
other: so nothing is missed.  Pods of one template and weight are interchangeable.  A move takes a pod off its
node and puts it on any node that the filters accept then; it may make no hard constraint worse, neither while
the pod is away nor afterwards, and no pod loses an affinity peer that it requires.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from planner.landing.single_landings import SingleLandings
from planner.moves.constraint_counts import excesses
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import move_effort as effort
from planner.proof.bounds import Assumption
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Evaluator, EvictionLimits, Found, Values, groups_of
from planner.rebalance.search.regions import chained

#: The largest count in one byte: no tiny cluster has more pods, nor a plan for it more moves.
_MOST_COUNTED = 255
#: The pods of every kind on every node; then the evictions so far under every limit.
Placement = bytes
#: A limit on evictions: where in a placement they are counted, and how many there may be.
_Quota = tuple[int, int]


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
class _PartialPlacement:
    """A placement without one pod: the excess of hard constraints, and the nodes where the pod may land.

    From `barred` it may not have come: pods there would have lost an affinity peer.
    """

    hard: tuple[int, ...]
    open_to: tuple[int, ...]
    barred: frozenset[int]


class Placements:
    """Judges placements, each given as bytes, on a trial cluster of its own."""

    def __init__(self, evaluator: Evaluator, landings: SingleLandings | None = None) -> None:
        """Placements that plans may go through; with `landings` every move is certain to land on its node."""
        trial, movable = evaluator.trial, evaluator.movable
        self._landings = landings
        self._trial = TrialCluster(trial.problem, trial.part) if landings is None else landings.trial
        self._nodes = trial.problem.nodes.size
        self.kinds = [*_kinds(movable)]
        self._hard = self._trial.ledger.hard
        #: Of constraints that share no movable template a move affects one alone.
        self._groups = [*groups_of(self._trial.ledger, movable, self._hard, hard=True)]
        self._soft = [constraint for constraint in self._trial.ledger.constraints if not constraint.hard]
        self._judge, self._partial = cache(self._judged), cache(self._without_one)
        node_of = trial.problem.node_of
        #: The pods by position in a placement, and those of every kind that are on no node for the moment.
        self._placed = [
            [pod for pod in kind.pods if node_of[pod] == node]
            for kind in self.kinds
            for node in range(self._nodes)
        ]
        self._spare: list[list[int]] = [[] for _ in self.kinds]
        self._now = bytes(map(len, self._placed))
        self._quotas = [*self._limits(evaluator.limits())]
        counted = {place for quotas in self._quotas for place, _ in quotas}
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

    def occupied(self, placement: Placement) -> Iterator[tuple[int, int]]:
        """The positions in a placement at which pods are counted, and the weight of a move from there."""
        weights = (kind.weight for kind in self.kinds for _ in range(self._nodes))
        return ((place, weight) for place, weight in enumerate(weights) if placement[place])

    def following(self, placement: Placement, place: int) -> Iterator[Placement]:
        """The placements to which single moves of a pod counted at position `place` lead."""
        before = self.judged(placement).hard
        kind, source = divmod(place, self._nodes)
        gone = self._evicted(placement, place)
        if gone is None:
            return
        partial = self._partial(gone[: len(self._now)], kind)
        if source in partial.barred or _is_worse(partial.hard, before):
            return
        for target in partial.open_to:
            if target != source:
                after = _with(gone, kind * self._nodes + target, 1)
                if not _is_worse(self.judged(after).hard, before) and self._lands(placement, place, target):
                    yield after

    def _lands(self, placement: Placement, place: int, target: int) -> bool:
        """Whether a replacement is certain to land on this node; always true without `landings`."""
        if self._landings is None:
            return True
        self._take(placement[: len(self._now)])
        move = Move(self._placed[place][-1], place % self._nodes, target)
        return self._landings.of(move) is not None

    def moves(self, path: Iterable[Placement]) -> Iterator[Move]:
        """The moves of particular pods that lead from placement to placement, beginning at the start."""
        node_of = self._trial.problem.node_of.tolist()
        for before, after in pairwise(path):
            change = [now - then for now, then in zip(after[: len(self._now)], before, strict=False)]
            kind, source = divmod(change.index(-1), self._nodes)
            pod = next(pod for pod in self.kinds[kind].pods if node_of[pod] == source)
            node_of[pod] = change.index(1) % self._nodes
            yield Move(pod, source, node_of[pod])

    def _evicted(self, placement: Placement, place: int) -> Placement | None:
        """The placement without one pod; None where a limit on evictions does not allow that."""
        gone = _with(placement, place, -1)
        for counted, most in self._quotas[place]:
            if gone[counted] == most:
                return None
            gone = _with(gone, counted, 1)
        return gone

    def _without_one(self, gone: bytes, kind: int) -> _PartialPlacement:
        self._take(gone)
        trial, template = self._trial, self.kinds[kind].template
        open_to = tuple(np.flatnonzero(trial.open_to(template)).tolist())
        barred = frozenset(node for node in range(self._nodes) if trial.breaks_affinity_of(template, node))
        return _PartialPlacement(excesses(self._hard), open_to, barred)

    def _take(self, counts: bytes) -> None:
        """Put the trial cluster into a placement, given as pods of every kind on every node."""
        if counts == self._now:
            return
        self.looked_at += 1
        state = self._trial.state
        changes = [then - now for now, then in zip(self._now, counts, strict=True)]
        # Those that leave first.
        for place in sorted(np.flatnonzero(changes).tolist(), key=lambda place: changes[place] > 0):
            (kind, node), placed = divmod(place, self._nodes), self._placed[place]
            for _ in range(-changes[place]):
                state.unbind(placed[-1])
                self._spare[kind].append(placed.pop())
            for _ in range(changes[place]):
                placed.append(self._spare[kind].pop())
                state.bind(placed[-1], node)
        state.forget_history()
        self._now = counts

    def _limits(self, limits: EvictionLimits) -> Iterator[list[_Quota]]:
        """For every position at which pods are counted, the limits on evictions from there."""
        places = dict[Hashable, int]()
        for kind in self.kinds:
            for node in range(self._nodes):
                yield [
                    (len(self._now) + places.setdefault(key, len(places)), min(most, _MOST_COUNTED))
                    for key, most in limits.of(kind.template, node)
                ]


def _kinds(movable: Movable) -> Iterator[MovableKind]:
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


def tried_out(evaluator: Evaluator, best: Found, meter: Meter | None = None) -> Found:
    """The neighbourhood of all moves, and a proof where all have been tried, by another meter if given."""
    search = Exhaustive(Placements(evaluator), evaluator, best[1])
    if search.run(meter or evaluator.meter):
        assumes = Assumption.NOTHING_WORSE, *evaluator.assumes
        evaluator.learn(chained(evaluator.stages, search.values, "trying out all moves", *assumes))
    return search.found or best


class Exhaustive:
    """Goes through placements layer by layer: those of one move, of two, and so on.

    `values` are the best so far: those of known moves until better ones are found.
    """

    def __init__(self, placements: Placements, evaluator: Evaluator, known: Values) -> None:
        self._placements, self._evaluator = placements, evaluator
        self.values = known
        before_moves = evaluator.stages[: evaluator.stages.index("moves")]
        self._excess_stages, floor = before_moves, evaluator.floor
        self._floor = [floor[name] for name in before_moves]
        self._one_weight = len({kind.weight for kind in placements.kinds}) <= 1
        #: From which placement each was first reached, or with less weight in as many moves.
        self._came_from: dict[Placement, Placement] = {}
        self._end: Placement | None = None

    def run(self, meter: Meter) -> bool:
        """Search; True if no moves are better than `values`, False if the work ended before that is known."""
        layer: dict[Placement, int] = {self._placements.start: 0}
        self._offer(self._placements.start, 0, 0)
        depth = 0
        while layer and not self._ends_at(depth):
            depth += 1
            found = self._next(layer, depth, meter)
            if found is None:
                return False
            layer = found
            for placement, weight in layer.items():
                self._offer(placement, depth, weight)
        return True

    def _ends_at(self, depth: int) -> bool:
        return depth == self._evaluator.most or (self._at_floor() and depth >= self.values["moves"])

    def _at_floor(self) -> bool:
        return [self.values[name] for name in self._excess_stages] == self._floor

    def _next(self, layer: Mapping[Placement, int], depth: int, meter: Meter) -> dict[Placement, int] | None:
        """The placements one more move leads to, and their weights; None at the work limit."""
        found: dict[Placement, int] = {}
        start = self._placements.start
        for placement, so_far in layer.items():
            price = effort.PRICE_OF_PLACEMENT + effort.PRICE_OF_COUNT * len(placement)
            meter.spend(price)
            for place, own_weight in self._placements.occupied(placement):
                if meter.over():
                    return None
                looked_at = self._placements.looked_at
                weight = so_far + own_weight
                for after in self._placements.following(placement, place):
                    known = after in self._came_from or after == start
                    if after in found:
                        if weight >= found[after]:
                            continue
                    elif known or self._cannot_improve(after, depth):
                        continue
                    found[after] = weight
                    self._came_from[after] = placement
                meter.spend(price * (self._placements.looked_at - looked_at))
        return found

    def _cannot_improve(self, placement: Placement, depth: int) -> bool:
        """Whether no placement reached from here can be better than the best known.

        Where that is not asked, 15 clusters of up to 16 pods take 1.6 times the work.
        """
        if not self._at_floor() or any(self._floor):
            return False
        needed = depth + self._placements.judged(placement).least
        return needed > self.values["moves"] or (self._one_weight and needed == self.values["moves"])

    def _offer(self, placement: Placement, depth: int, weight: int) -> None:
        judged, key = self._placements.judged(placement), self._evaluator.key
        excess = {"hardExcess": sum(judged.hard), "softExcess": judged.soft}
        values = {**excess, "moves": depth, "disruption": weight}
        if key(values) < key(self.values):
            self.values, self._end = values, placement

    @property
    def found(self) -> Found | None:
        """The moves to the best placement; None if the known moves are best."""
        if self._end is None:
            return None
        path = [self._end]
        while path[-1] != self._placements.start:
            path.append(self._came_from[path[-1]])
        return [*self._placements.moves(reversed(path))], self.values
