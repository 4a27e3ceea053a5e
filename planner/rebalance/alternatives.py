"""Waves for the moves that the search found, or for other moves where those leave something broken.

`EvictionsFirst`: where hard constraints are tight, the moves that repair a constraint may have no safe wave,
while a few more evictions, one after the other and each to wherever the replacement scores highest, lead to
the same end.  Every way in which ties may break is followed; pods of a template are alike, so ways that put
as many of them on every node are one.  The state after these evictions is known, so the rest is a plan of
its own. Without them 24 small clusters (`lopsided`) keep 40 pods too many with --evict-only, not 24; where
only evictions without ties count, 2 more of 41 in 32 others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from planner.eviction.protections import SOFT, Protections
from planner.landing.landing import Kind, Landing, NodeSets
from planner.moves.constraint_counts import TrackedConstraint, excesses, worse
from planner.moves.movable import Movable
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase, TrialCluster
from planner.problem.problem import Problem
from planner.proof import move_effort as effort
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Distance, Evaluator, Found, FoundMoves, distance
from planner.rebalance.search.greedy import unpinned_moves
from planner.rebalance.search.search import find_certain_moves, find_moves
from planner.waves.candidates import WaveRules
from planner.waves.replay import first_failure
from planner.waves.wave_planner import WavePlan, WavePlanner

_HELD = "nothing holds its replacement to the right nodes"


@dataclass(frozen=True, slots=True)
class MoveTask:
    """What moves are planned for: a cluster, the pods that may move, what waves keep to, and the work."""

    trial: TrialCluster
    movable: Movable
    protections: Protections
    rules: WaveRules
    most: int | None
    meter: Meter
    wave_meter: Meter

    def evaluator(self) -> Evaluator:
        return Evaluator(self.trial, self.movable, self.protections, self.meter, self.most)

    def found(self) -> FoundMoves:
        return find_moves(self.evaluator())

    def without(self, pods: Iterable[int], reason: str) -> MoveTask:
        """The same task when some more pods stay, for a reason."""
        return replace(self, movable=self.movable.without(pods, reason))

    @property
    def is_bounded(self) -> bool:
        """Whether the number of evictions is limited, of all pods or of some."""
        rules = self.protections
        several = self.most, rules.most_per_node, rules.most_per_namespace
        return bool(self.movable.quotas) or several != (None, None, None)


@dataclass(frozen=True, slots=True)
class PlannedMoves:
    """The moves that the search found, the best plan, and the plan whose unscheduled moves are reported.

    The latter is the first plan if the best one schedules all of its moves but leaves too much.
    """

    found: FoundMoves
    best: WavePlan
    reported: WavePlan


def planned_moves(task: MoveTask) -> PlannedMoves:
    """The best waves for the moves that are found, or for others where those could not be scheduled."""
    evaluator, planner = task.evaluator(), WavePlanner(task.trial, task.rules, task.wave_meter)
    found = find_moves(evaluator)
    best = first = planner.of(found.moves, found.values, partial(unpinned_moves, evaluator))
    if best.left or best.misses(found.values):
        for moves, values in _instead(task, evaluator, first, again=not planner.is_large(found.moves)):
            best = min(best, planner.of(moves, values), key=lambda one: one.key)
            if not (best.left or best.misses(found.values)):
                break
    return PlannedMoves(found, best, first if not best.left and best.misses(found.values) else best)


def _instead(task: MoveTask, evaluator: Evaluator, first: WavePlan, *, again: bool) -> Iterator[Found]:
    """Certain moves; with `again` others without the pods that could not be scheduled, or their templates.

    Even the best of them may leave more than was found.
    """
    template, policy, (hard, soft) = task.trial.template, task.rules.pin_policy, first.excess
    achieved = {
        "hardExcess": hard,
        "softExcess": soft,
        "moves": len(first.moves),
        "disruption": first.weight,
    }
    better = find_certain_moves(evaluator, achieved, policy)
    if better is not None:
        yield better
    left = frozenset(move.pod for move in first.left if template(move.pod) not in policy.pinnable)
    alike = frozenset(pod for one in left for pod in task.movable.of(template(one)).tolist())
    for held in dict.fromkeys((left, alike)) if again else ():
        if not held or task.wave_meter.over():
            return
        other = task.without(held, _HELD).found()
        if other.moves:
            yield other.moves, other.values


@dataclass(frozen=True, slots=True)
class EvictionsFirst:
    """Searches for plans that begin with single evictions; the trial cluster is left as it was."""

    task: MoveTask

    def better_than(self, best: WavePlan) -> WavePlan:
        """A plan that first repairs what the best one leaves broken, if it leaves less."""
        first = list[Landing]()
        with self.task.trial.after(best.moves):
            broken = [one.asked.identity for one in self.task.trial.ledger.broken()]
        for identity in broken:
            first += self._repair(identity, first)
        if not first or self.task.wave_meter.over():
            return best
        return min(best, self._beginning_with(first), key=lambda one: one.key)

    def _repair(self, identity: Hashable, first: Sequence[Landing]) -> Sequence[Landing]:
        """The evictions that repair a constraint after `first`."""
        task = self._after(first)
        constraint = next(d for d in task.trial.ledger.constraints if d.asked.identity == identity)
        return SingleEvictions(task.trial, task.movable, constraint, task.wave_meter).run()

    def _beginning_with(self, first: Sequence[Landing]) -> WavePlan:
        """A plan that begins with some evictions, or nothing if it does not hold."""
        task, kinds = self._after(first), self.task.protections.kinds
        nothing, rest = (WavePlan.nothing(one.trial, kinds) for one in (self.task, task))
        if task.trial.ledger.broken(kinds):
            rest = planned_moves(task).best
        waves = [*([landing] for landing in first), *rest.waves]
        if first_failure(self.task.trial, waves, soft=SOFT in kinds) is not None:
            return nothing
        weight = rest.weight + sum(int(task.rules.weights[landing.move.pod]) for landing in first)
        return replace(rest, waves=waves, weight=weight)

    def _after(self, first: Sequence[Landing]) -> MoveTask:
        """The same task after some evictions, whose pods stay."""
        problem, part = self.task.trial.problem, self.task.trial.part
        target = {problem.pods[one.move.pod].key: problem.nodes.names[one.move.target] for one in first}
        pods = [pod.on(target[pod.key]) if pod.key in target else pod for pod in problem.cluster.pods]
        trial = TrialCluster(Problem(replace(problem.cluster, pods=tuple(pods))), part)
        return replace(self.task.without([one.move.pod for one in first], "moved before"), trial=trial)


#: The evicted pods in order, each with the node of its replacement.
Outcome = tuple[tuple[int, int], ...]
#: The distance of constraints that hold from their goal.
_DONE: Distance = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class _EvictionSequence:
    """Evictions in their order, all outcomes that they may have, and how far the worst is from the goal.

    The first outcome is that in which the smallest name wins every tie.
    """

    landings: tuple[Landing, ...]
    outcomes: tuple[Outcome, ...]
    far: Distance

    @property
    def key(self) -> tuple[Distance, int]:
        """The smaller, the better."""
        return self.far, len(self.outcomes)


class SingleEvictions:
    """Searches for single evictions, each with a certain end, among the pods that one constraint counts."""

    def __init__(
        self, trial: TrialCluster, movable: Movable, constraint: TrackedConstraint, meter: Meter
    ) -> None:
        """For a hard constraint of a trial cluster, which is not touched."""
        self._pods = [pod for t in sorted(constraint.members) for pod in movable.of(t).tolist()]
        self._meter = meter
        self._timeline = EvictionTimeline(trial.problem, self._pods, trial.part)
        self._trial = self._timeline.trial
        self._hard = self._trial.ledger.hard_of(sorted(constraint.members))
        self._places = NodeSets(self._trial)
        self._start = trial.state.node_of.copy()
        self._tried = 0

    def run(self) -> Sequence[Landing]:
        """The evictions that bring constraints nearest to their goal with a certain end; none if none do."""
        best = _EvictionSequence((), ((),), distance(self._hard))
        kept, seen = [best], set[frozenset[object]]()
        for _ in range(effort.SINGLE_EVICTIONS):
            found = [more for one in kept for more in self._longer(one, seen)]
            kept = sorted(found, key=lambda one: one.key)[: effort.SINGLE_EVICTIONS_KEPT]
            certain = [one for one in kept if len({*map(self._counts, one.outcomes)}) == 1]
            best = min([best, *certain], key=lambda one: one.far)
            if best.far == _DONE or self._is_enough():
                break
        return best.landings

    def _is_enough(self) -> bool:
        return self._tried > effort.SINGLE_EVICTIONS_TRIED or self._meter.over()

    def _longer(self, known: _EvictionSequence, seen: set[frozenset[object]]) -> Iterator[_EvictionSequence]:
        """Known evictions with one more of each template from each node, without final states seen before."""
        gone, keys = {pod for pod, _ in known.outcomes[0]}, set[tuple[int, int]]()
        for pod in self._pods:
            key = self._trial.template(pod), int(self._start[pod])
            if pod in gone or key in keys or self._is_enough():
                continue
            keys.add(key)
            found = self._with(known, pod)
            if found is not None:
                end = frozenset[object](map(self._counts, found.outcomes))
                if end not in seen:
                    seen.add(end)
                    yield found

    def _with(self, known: _EvictionSequence, pod: int) -> _EvictionSequence | None:
        """Known evictions with one more pod; None if something may be worse than before at any time."""
        outcomes, far, by_filters = dict[Outcome, None](), list[Distance](), True
        for outcome in known.outcomes:
            self._tried += 1
            with self._trial.after():
                self._timeline.put_all((self._move(*one) for one in outcome), Phase.LANDED)
                before = excesses(self._hard)
                tops, others = self._tops(pod, before)
                by_filters = by_filters and not others
                for node in tops:
                    self._timeline.put(self._move(pod, node), Phase.LANDED)
                    far.append(distance(self._hard))
                    if worse(before, self._hard):
                        return None
                    outcomes[tuple(sorted((*outcome, (pod, node))))] = None
            if not tops or len(outcomes) > effort.SINGLE_EVICTIONS_ENDS:
                return None
        return _EvictionSequence(
            (*known.landings, self._landing(pod, [*outcomes], by_filters)), (*outcomes,), max(far)
        )

    def _tops(self, pod: int, before: Sequence[int]) -> tuple[Sequence[int], bool]:
        """The nodes with the highest score while the pod ends and after that, and whether others are open.

        No nodes if something is worse meanwhile, if no node is open, or if the pod's own node may be chosen.
        """
        trial, template, source = self._trial, self._trial.template(pod), int(self._start[pod])
        found, others = dict[int, None](), False
        with trial.after():
            for _ in self._timeline.while_unscheduled(Move(pod, source, source)):
                feasible, tops = trial.tops(template)
                if not tops.any() or worse(before, self._hard) or trial.breaks_affinity_of(template, source):
                    return [], others
                found |= dict.fromkeys(np.flatnonzero(tops).tolist())
                others = others or bool((feasible & ~tops).any())
        return ([] if source in found else [*found]), others

    def _landing(self, pod: int, outcomes: Sequence[Outcome], by_filters: bool) -> Landing:
        """The landing of a pod on its nodes in all outcomes; its target is the node in the first outcome."""
        nodes = self._timeline.problem.nodes.mask_of([dict(outcome)[pod] for outcome in outcomes])
        kind: Kind = "filters" if by_filters else "scores"
        return Landing(self._move(pod, dict(outcomes[0])[pod]), kind, nodes, self._places.named(nodes))

    def _move(self, pod: int, node: int) -> Move:
        return Move(pod, int(self._start[pod]), node)

    def _counts(self, outcome: Outcome) -> frozenset[tuple[tuple[int, int], int]]:
        """How many more pods of every template are on every node than at the start."""
        found = Counter((self._trial.template(pod), node) for pod, node in outcome)
        found.subtract((self._trial.template(pod), int(self._start[pod])) for pod, _ in outcome)
        return frozenset((place, more) for place, more in found.items() if more)
