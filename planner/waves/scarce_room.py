"""The order of moves on a cluster that is next to full: what is free stays known as long as possible.

Where a single node of its domain has room, a replacement lands there without a pin, and nothing becomes
uncertain.  Pods of one size that fill all the nodes where they may be leave nothing uncertain either.  Such
moves go first, the largest before others, and those that make room for them; then those for which several
nodes are equally good.  A pin comes last, to where it wastes the least room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from planner.landing.landing import Landing
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Ints, Mask
from planner.proof import effort
from planner.waves.candidates import Candidates, Within
from planner.waves.largest_first import LargestFirst


class ScarceRoom:
    """Moves that add the least uncertainty first."""

    def __init__(self, candidates: Candidates, moves: Sequence[Move], judged: int | None = None) -> None:
        """Up to `judged` landings for each move are judged before this order is given up."""
        judged = effort.SCARCE_JUDGED if judged is None else judged
        self._candidates = candidates
        self._trial = candidates.trial
        self._room = candidates.landings.room
        self._order = LargestFirst(self._trial, moves)
        self._scarce = _scarce(candidates.timeline, moves)
        self._planned = {move.pod: move.target for move in moves}
        #: The landings of the last wave.
        self._landed: Sequence[Landing] = ()
        self._most_work = judged * len(moves) * self._trial.problem.nodes.size
        #: For every template the nodes of all domains to which its pods are to come.
        self._ends: dict[int, Mask] = {}
        for move in moves:
            template, near = self._trial.template(move.pod), self._near(move)
            self._ends[template] = self._ends.get(template, False) | near
        #: For templates the nodes that may have room now.
        self._fits: dict[int, Mask] = {}
        self._in_domain = Within(self._near, self._open)
        self._in_any_domain = Within(self._in_planned_domains, self._open)

    def commit(self, wave: Sequence[Landing]) -> Sequence[Landing]:
        """Carry out a wave."""
        self._landed = self._candidates.landings.commit(wave)
        return self._landed

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """A wave of what adds the least uncertainty, of the largest pods before others."""
        if self._candidates.work > self._most_work:
            return []
        self._fits.clear()
        self._resolve_landed()
        self._swap(left)
        ready = [*self._candidates.ready(left)]
        return self._wave_of(ready, self._order.groups(ready, left), left)

    def _wave_of(
        self, ready: Sequence[Move], groups: Sequence[Sequence[Move]], left: list[Move]
    ) -> Sequence[Landing]:
        """A wave of ready moves; `groups` are those that take nothing from larger ones, the largest first."""
        largest, *others = groups or [[]]
        filling = (move for move in self._different(largest) if self._fills(move))
        return (
            self._one_of(filling)
            or self._to_the_only_node(largest)
            or self._one_of(self._different(largest))
            or next(filter(None, map(self._to_the_only_node, others)), [])
            or self._with_a_pin(largest, left)
            or next(filter(None, map(self._to_any_node, others)), [])
            or next(filter(None, map(self._to_any_domain, [largest, *others])), [])
            or self._with_a_pin(self._in_the_way(ready, left), left)
        )

    def _in_the_way(self, ready: Sequence[Move], left: Sequence[Move]) -> Iterable[Move]:
        """Moves that make room for larger ones, then all ready moves; each time the largest first."""
        largest_first = sorted(ready, key=self._order.key)
        return chain(*self._order.making_way(largest_first, left), largest_first)

    # The kinds of waves

    def _one_of(self, moves: Iterable[Move], within: Within | None = None) -> Sequence[Landing]:
        """The first of some moves that lands by itself."""
        return next(filter(None, (self._alone([move], within) for move in moves)), [])

    def _alone(self, moves: Iterable[Move], within: Within | None = None) -> Sequence[Landing]:
        return self._candidates.alone(moves, pins=False, within=within or self._in_domain)

    def _to_the_only_node(self, moves: Iterable[Move]) -> Sequence[Landing]:
        """All of some moves that have a single node with room each."""
        return self._together(self._alone(m for m in moves if np.count_nonzero(self._open(m)) == 1))

    def _together(self, alone: Sequence[Landing]) -> Sequence[Landing]:
        return self._candidates.together(alone, self._in_domain)

    def _to_any_node(self, moves: Iterable[Move]) -> Sequence[Landing]:
        """Some moves that hold on whichever node they land."""
        different = self._different(moves)
        while some := [*islice(different, effort.SCARCE_TOGETHER)]:
            found = self._together(self._alone(some))
            if found:
                return found
        return []

    def _to_any_domain(self, moves: Iterable[Move]) -> Sequence[Landing]:
        """The first of some moves that holds in any planned domain of its template that larger pods leave."""
        return self._one_of(self._different(moves), self._in_any_domain)

    def _with_a_pin(self, moves: Iterable[Move], left: list[Move]) -> Sequence[Landing]:
        """The first of some moves that can be pinned, to the node with the least room left over."""
        if self._candidates.rules.evict_only:
            return []
        for move in moves:
            nodes = self._certain(move)
            pinned = replace(move, target=int(nodes[0])) if nodes.size else move
            found = (
                self._candidates.alone([pinned], pins=True, plain=True, within=self._in_domain)
                if nodes.size
                else []
            )
            if found:
                left[left.index(move)] = pinned
                return found
        return []

    # Where replacements may land

    def _near(self, move: Move) -> Mask:
        """The planned domain: elsewhere a replacement would take another move's place."""
        return self._order.near(move, move.target)

    def _in_planned_domains(self, move: Move) -> Mask:
        """The planned domains of all pods of the template that larger pods do not need."""
        ends = self._ends[self._trial.template(move.pod)]
        found: Mask = self._near(move) | (ends & ~self._order.needed(move))
        return found

    def _open(self, move: Move) -> Mask:
        """The nodes in the planned domain that may have room for a replacement."""
        template, room = self._trial.template(move.pod), self._room
        if template not in self._fits:
            self._fits[template] = room.fits(template, room.free()) & self._trial.plan(template).static
        found: Mask = self._fits[template] & self._near(move)
        return found

    def _certain(self, move: Move) -> Ints:
        """The open nodes on which no uncertain pod may be, those with the least free room first."""
        sure = self._open(move)
        sure[move.source] = False
        for uncertain in self._room.uncertain_pods:
            sure &= ~uncertain.nodes
        nodes = np.flatnonzero(sure)
        free = self._room.free()[:, nodes] / np.maximum(self._trial.problem.allocatable[:, nodes], 1)
        return nodes[np.argsort(free.min(axis=0, initial=1.0), kind="stable")]

    # What is known

    def _resolve_landed(self) -> None:
        """Resolve pods that just landed, if pods of one size fill all the nodes where they may be."""
        landed = {landing.move.pod for landing in self._landed}
        for uncertain in [one for one in self._room.uncertain_pods if one.pod in landed]:
            if any(one is uncertain for one in self._room.uncertain_pods):
                self._room.resolve(uncertain, self._scarce)

    def _swap(self, left: list[Move]) -> None:
        """Give a move whose node another pod of its size has taken that pod's planned node."""
        for landing in self._landed:
            here, free = landing.move.target, self._planned[landing.move.pod]
            for number, other in enumerate(left if here != free else ()):
                alike = self._order.size(other) == self._order.size(landing.move)
                if alike and other.target == here and self._order.near(other, here)[free]:
                    left[number] = replace(other, target=free)
                    self._planned[other.pod] = free
                    break

    def _different(self, moves: Iterable[Move]) -> Iterator[Move]:
        """Some moves to domains with room, one for each template, source domain and target domain."""
        seen = set[tuple[int, int, int]]()
        for move in moves:
            template = self._trial.template(move.pod)
            domains = self._trial.domains(template)
            key = template, int(domains[move.source]), int(domains[move.target])
            if key not in seen and self._open(move).any():
                seen.add(key)
                yield move

    def _fills(self, move: Move) -> bool:
        """Whether uncertain pods of the same size may be on the nodes to which this one may come."""
        room, nodes = self._room, self._open(move)
        takes = self._trial.taken[self._trial.template(move.pod)]
        return int(nodes.sum()) > 1 and any(
            (uncertain.nodes & nodes).any() and np.array_equal(self._trial.taken[uncertain.template], takes)
            for uncertain in room.uncertain_pods
        )


def _scarce(timeline: EvictionTimeline, moves: Sequence[Move]) -> list[Mask]:
    """For every resource the nodes where no other resource can run out first, whichever of the moves come."""
    trial, problem = timeline.trial, timeline.problem
    takes, free = trial.taken[[trial.template(move.pod) for move in moves]], trial.free()
    returning = np.zeros_like(free)
    np.add.at(returning.T, [move.source for move in moves], takes)
    found: list[Mask] = []
    for resource, own in enumerate(takes.T):
        if own.all():
            most = (takes / own[:, np.newaxis]).max(axis=0)
            enough = most[:, np.newaxis] * (free + returning)[resource] <= free
            enough[resource] = True
            found.append(enough.all(axis=0))
        else:
            found.append(problem.nodes.none)
    return found
