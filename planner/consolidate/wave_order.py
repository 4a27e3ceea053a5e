"""A sequence of moves in waves: what may be under way at the same time, whatever finishes first.

Templates whose filters or constraints ask about each other's pods are coupled.  Their moves keep their order,
one a wave or those that may be under way together, so everything but room is as in the sequence.  Of another
workload so many move in a wave as may be down.  Room on a node is only taken, except where a pod leaves a
node that is kept: what comes there after that comes in a later wave.  So the room that is taken is never more
than at some time of the sequence.  Where other nodes are cordoned for a move, those that moves of its wave
come to stay open: it shares a wave only with moves to the same node, or where each node is closed to the pods
that come to the other one.

The nodes that are cordoned in a wave are those that could take a replacement at any time of it, its target
aside: evaluated with its old pod still there and without it, all other pods of the wave being away.  Of what
could change a node's answer meanwhile only room does, and there is never more of it than then.  All
replacements of a wave that need cordons name the same nodes, so that none is opened while another replacement
is under way.  One that is alone in its wave needs none where scores, or filters, leave it no other node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from planner.audit.replicas_down import ReplicaLimit
from planner.consolidate.certain_moves import SafeMove
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.eviction.budgets import Budgets
from planner.landing.landing import NO_PINS, Landing
from planner.landing.single_landings import SingleLandings
from planner.moves.movable import Limit, LimitUse
from planner.moves.trial_cluster import EvictionTimeline, Phase, TrialCluster


class EmptyingOrder:
    """Puts sequences of moves of a cluster into waves."""

    def __init__(
        self,
        trial: TrialCluster,
        budgets: Budgets,
        replicas: ReplicaLimit,
        coupled: Iterable[Sequence[int]],
    ) -> None:
        """Templates that are `coupled` with others, or with themselves, move one at a time."""
        self._trial = trial
        self._budgets = budgets
        self._replicas = replicas
        several = [*coupled]
        self._group = _groups(trial, several)
        #: The groups of which a wave has one move.
        self._in_turn = {self._group[number] for numbers in several for number in numbers}

    def of(self, sequence: Sequence[SafeMove]) -> list[list[Landing]]:
        """The waves; a move that holds only alone has one of its own."""
        waves: list[_Wave] = []
        first = 0
        #: By group the last wave, and the moves that may go on in it.
        last: dict[int, int] = {}
        together: dict[int, tuple[int, int] | None] = {}
        left: dict[int, int] = {}
        for one in sequence:
            move = one.landing.move
            group, limits = self._group[self._trial.template(move.pod)], [*self._limits(move.pod)]
            goes_on = one.together is not None and one.together == together.get(group)
            after = last.get(group, -1) + (group in self._in_turn and not goes_on)
            number = len(waves) if one.alone else max(first, after, left.get(move.target, 0))
            while number < len(waves) and not (
                waves[number].use.allow(limits) and self._share(one, waves[number])
            ):
                number += 1
            waves += [_Wave() for _ in range(number + 1 - len(waves))]
            waves[number].add(one, self._trial.template(move.pod))
            waves[number].use.use(limits)
            last[group], together[group] = number, one.together
            left[move.source] = max(left.get(move.source, 0), number + 1)
            first = number + 1 if one.alone else first
        return with_cordons(self._trial, [wave.moves for wave in waves])

    def _limits(self, pod: int) -> Iterator[Limit]:
        """How many pods of its workload and its budgets a wave may move."""
        workload = self._trial.workloads[self._trial.template(pod)]
        yield workload, self._replicas.at_once(workload)
        yield from ((budget, self._budgets.allowed[budget]) for budget in self._budgets.asked(pod))

    def _share(self, one: SafeMove, wave: _Wave) -> bool:
        """Whether no move of a wave comes to a node that is cordoned for another one."""
        target = one.landing.move.target
        if any(
            self._could_take(template, target) and targets != {target}
            for template, targets in wave.cordoned.items()
        ):
            return False
        if not one.others_cordoned:
            return True
        template = self._trial.template(one.landing.move.pod)
        return not any(node != target and self._could_take(template, node) for node in wave.targets)

    def _could_take(self, template: int, node: int) -> bool:
        """Whether a replacement for which other nodes are cordoned could come to a node."""
        return bool(self._trial.ever_open(template)[node])


@dataclass(slots=True)
class _Wave:
    """Moves under way at the same time, and their targets; by template those of moves with cordons, too."""

    moves: list[SafeMove] = field(default_factory=list)
    targets: set[int] = field(default_factory=set)
    cordoned: dict[int, set[int]] = field(default_factory=dict)
    use: LimitUse = field(default_factory=LimitUse)

    def add(self, one: SafeMove, template: int) -> None:
        target = one.landing.move.target
        self.moves.append(one)
        self.targets.add(target)
        if one.others_cordoned:
            self.cordoned.setdefault(template, set()).add(target)


def _groups(trial: TrialCluster, coupled: Iterable[Sequence[int]]) -> list[int]:
    """For every template the number of its group: coupled ones are in one, and those of a workload."""
    parent = list(range(len(trial.problem.templates)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    workloads: dict[str, list[int]] = {}
    for template, workload in enumerate(trial.workloads):
        workloads.setdefault(workload, []).append(template)
    for several in (*workloads.values(), *coupled):
        for one, other in pairwise(several):
            parent[root(one)] = root(other)
    return [root(number) for number in parent]


def asking_about_each_other(trial: TrialCluster) -> Iterator[Sequence[int]]:
    """Templates that ask about each other's pods, or about their own, by spread or by affinity."""
    for found in trial.ledger.hard:
        yield [*found.members, *found.carriers]
    for asking in trial.problem.templates:
        for plugin in trial.plan(asking.index).changing:
            if isinstance(plugin, InterPodAffinity):
                for around in plugin.rules(asking).every:
                    yield [asking.index, *around.counts.tally.members]


def with_cordons(trial: TrialCluster, waves: Sequence[Sequence[SafeMove]]) -> list[list[Landing]]:
    """The landings of all waves with their cordons; where no node needs one, filters are enough."""
    if not any(one.others_cordoned for wave in waves for one in wave):
        return [[one.landing for one in wave] for wave in waves]
    pods = [one.landing.move.pod for wave in waves for one in wave]
    timeline = EvictionTimeline(trial.problem, pods, trial.part)
    alone = SingleLandings(timeline, NO_PINS, while_away=False)
    return [_landings(timeline, alone, wave) for wave in waves]


def _landings(timeline: EvictionTimeline, alone: SingleLandings, wave: Sequence[SafeMove]) -> list[Landing]:
    """The landings of a wave; the timeline has it landed then."""
    one = wave[0]
    landing = alone.of(one.landing.move) if len(wave) == 1 and one.others_cordoned else None
    if landing is None:
        return _cordoned(timeline, alone, wave)
    timeline.put(landing.move, Phase.LANDED)
    timeline.trial.state.forget_history()
    return [landing]


def _cordoned(timeline: EvictionTimeline, alone: SingleLandings, wave: Sequence[SafeMove]) -> list[Landing]:
    moves = [one.landing.move for one in wave]
    timeline.put_all(moves, Phase.GONE)
    wrong = [alone.others_open(one.landing.move) if one.others_cordoned else None for one in wave]
    timeline.put_all(moves, Phase.LANDED)
    timeline.trial.state.forget_history()
    every = np.flatnonzero(np.any([nodes for nodes in wrong if nodes is not None], axis=0))
    cordon: tuple[int, ...] = tuple(every.tolist())
    return [
        one.landing if nodes is None else _landing(one.landing, cordon if nodes.any() else ())
        for one, nodes in zip(wave, wrong, strict=True)
    ]


def _landing(landing: Landing, cordon: tuple[int, ...]) -> Landing:
    return replace(landing, cordon=cordon) if cordon else replace(landing, kind="filters")
