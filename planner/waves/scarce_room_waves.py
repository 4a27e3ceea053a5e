"""Moves in waves on a cluster that is next to full, in an order that keeps it known what is free.

Where a single node of its domain has room, a replacement lands there without a pin, and nothing becomes
uncertain.  Pods of one size that fill all the nodes where they may be leave nothing uncertain either.  Such
moves go first, the largest before others, and those that make room for them; then those for which several
nodes are equally good.  A pin comes last, to where it wastes the least room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from planner.landing.landing import Landing
from planner.moves.timeline import EvictionTimeline
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Ints, Mask
from planner.proof import effort
from planner.waves.largest_first import LargestFirst
from planner.waves.open_waves import OpenWaves, RetryHints, WaveRules


class ScarceRoomWaves(OpenWaves):
    """Plans waves for moves and carries them out on a timeline."""

    _histograms_kept = effort.SCARCE_HISTOGRAMS_KEPT

    def __init__(
        self,
        timeline: EvictionTimeline,
        moves: Sequence[Move],
        rules: WaveRules,
        hints: RetryHints | None = None,
    ) -> None:
        super().__init__(timeline, moves, rules, hints)
        self._order = LargestFirst(timeline.trial, self._landings.room, moves)
        self._scarce = _scarce(timeline, moves)
        self._planned = {move.pod: move.target for move in moves}
        #: For every template the nodes of all domains to which its pods are to come.
        self._ends: dict[int, Mask] = {}
        for move in moves:
            template, near = timeline.trial.template(move.pod), self._order.near(move, move.target)
            self._ends[template] = self._ends.get(template, False) | near
        self._in_domain = True
        #: For templates the nodes that may have room now.
        self._fits: dict[int, Mask] = {}

    def plan_waves(self, is_over: Callable[[], bool]) -> Sequence[Move]:
        """Plan waves until nearly every move is refused; returns the moves left over."""
        most = self._judged_each() * len(self._left) * self._trial.problem.nodes.size
        return super().plan_waves(lambda: is_over() or self._work > most)

    @staticmethod
    def _judged_each() -> int:
        """The most landings judged for each move before this order is given up."""
        return effort.SCARCE_JUDGED

    def _next_wave(self) -> list[Landing]:
        """The moves that add the least uncertainty."""
        self._fits.clear()
        self._resolve_landed()
        self._swap()
        ready = [*self._ready()]
        return self._wave_of(ready, self._order.groups(ready, self._left))

    def _wave_of(self, ready: Sequence[Move], groups: Sequence[Sequence[Move]]) -> list[Landing]:
        """A wave of ready moves; `groups` are those that take nothing from larger ones, the largest first."""
        largest, *others = groups or [[]]
        filling = (move for move in self._different(largest) if self._fills(move))
        return (
            self._one_of(filling)
            or self._to_the_only_node(largest)
            or self._one_of(self._different(largest))
            or next(filter(None, map(self._to_the_only_node, others)), [])
            or self._with_a_pin(largest)
            or next(filter(None, map(self._to_any_node, others)), [])
            or next(filter(None, map(self._to_any_domain, [largest, *others])), [])
            or self._with_a_pin(self._in_the_way(ready))
        )

    def _in_the_way(self, ready: Sequence[Move]) -> Iterable[Move]:
        """Moves that make room for larger ones, then all ready moves; each time the largest first."""
        largest_first = sorted(ready, key=self._order.key)
        return chain(*self._order.making_way(largest_first, self._left), largest_first)

    # The kinds of waves

    def _one_of(self, moves: Iterable[Move]) -> list[Landing]:
        """The first of some moves that lands by itself."""
        return next(filter(None, (self._alone([move], pins=False) for move in moves)), [])

    def _to_the_only_node(self, moves: Iterable[Move]) -> list[Landing]:
        """All of some moves that have a single node with room each."""
        return self._hold_together(
            self._alone((m for m in moves if np.count_nonzero(self._open(m)) == 1), pins=False)
        )

    def _to_any_node(self, moves: Iterable[Move]) -> list[Landing]:
        """Some moves that hold on whichever node they land."""
        different = self._different(moves)
        while some := [*islice(different, effort.SCARCE_TOGETHER)]:
            found = self._hold_together(self._alone(some, pins=False))
            if found:
                return found
        return []

    def _to_any_domain(self, moves: Iterable[Move]) -> list[Landing]:
        """The first of some moves that holds in any planned domain of its template that larger pods leave."""
        self._in_domain = False
        try:
            return self._one_of(self._different(moves))
        finally:
            self._in_domain = True

    def _with_a_pin(self, moves: Iterable[Move]) -> list[Landing]:
        """The first of some moves that can be pinned, to the node with the least room left over."""
        if self.rules.evict_only:
            return []
        for move in moves:
            nodes = self._certain(move)
            pinned = replace(move, target=int(nodes[0])) if nodes.size else move
            found = self._alone([pinned], pins=True, plain=True) if nodes.size else []
            if found:
                self._left[self._left.index(move)] = pinned
                return found
        return []

    def _is_welcome(self, landing: Landing) -> bool:
        """Whether it is in the planned domains: elsewhere it would take another move's place."""
        return not (landing.nodes & ~self._meant(landing.move)).any()

    def _meant(self, move: Move) -> Mask:
        """The nodes where a replacement may land."""
        near = self._order.near(move, move.target)
        if self._in_domain:
            return near
        ends = self._ends[self._trial.template(move.pod)]
        found: Mask = near | (ends & ~self._order.needed(move))
        return found

    # What is known

    def _resolve_landed(self) -> None:
        """Resolve pods that just landed, if pods of one size fill all the nodes where they may be."""
        room = self._landings.room
        landed = {landing.move.pod for landing in self.waves[-1]} if self.waves else set[int]()
        for uncertain in [uncertain for uncertain in room.uncertain_pods if uncertain.pod in landed]:
            if any(one is uncertain for one in room.uncertain_pods):
                room.resolve(uncertain, self._scarce)

    def _swap(self) -> None:
        """Give a move whose node another pod of its size has taken that pod's planned node."""
        for landing in self.waves[-1] if self.waves else ():
            here, free = landing.move.target, self._planned[landing.move.pod]
            for number, other in enumerate(self._left if here != free else ()):
                alike = self._order.size(other) == self._order.size(landing.move)
                if alike and other.target == here and self._order.near(other, here)[free]:
                    self._left[number] = replace(other, target=free)
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
        room, nodes = self._landings.room, self._open(move)
        takes = room.takes[self._trial.template(move.pod)]
        return int(nodes.sum()) > 1 and any(
            (uncertain.nodes & nodes).any() and np.array_equal(room.takes[uncertain.template], takes)
            for uncertain in room.uncertain_pods
        )

    def _open(self, move: Move) -> Mask:
        """The nodes in the planned domain that may have room for a replacement."""
        template, room = self._trial.template(move.pod), self._landings.room
        if template not in self._fits:
            self._fits[template] = room.fits(template, room.free()) & self._trial.plan(template).static
        found: Mask = self._fits[template] & self._order.near(move, move.target)
        return found

    def _certain(self, move: Move) -> Ints:
        """The open nodes on which no uncertain pod may be, those with the least free room first."""
        sure = self._open(move)
        sure[move.source] = False
        for uncertain in self._landings.room.uncertain_pods:
            sure &= ~uncertain.nodes
        nodes = np.flatnonzero(sure)
        free = self._landings.room.free()[:, nodes] / np.maximum(self._trial.problem.allocatable[:, nodes], 1)
        return nodes[np.argsort(free.min(axis=0, initial=1.0), kind="stable")]

    def _asks(self, *, pins: bool) -> object:
        return pins, self._in_domain

    def _stamp(self, move: Move) -> object:
        return super()._stamp(move), self._open(move).tobytes(), self._meant(move).tobytes()


def _scarce(timeline: EvictionTimeline, moves: Sequence[Move]) -> list[Mask]:
    """For every resource the nodes where no other resource can run out first, whichever of the moves come."""
    trial, problem = timeline.trial, timeline.problem
    takes: Ints = np.array([problem.templates[trial.template(move.pod)].requests for move in moves], np.int64)
    free = problem.allocatable - trial.state.used
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
