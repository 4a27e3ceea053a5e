"""The order of moves on a cluster that is next to full: what is free stays known as long as possible.

`LargestFirst`: wherever a small pod lands, it may break up the only gap that a large one fits into.  So it
comes to a domain only if at least as many larger pods are still to leave that domain as are to come to it.  A
pod that leaves a node to which a larger one is to come makes room for it, and goes early.

`ScarceRoom`: where a single node of its domain has room, a replacement lands there without a pin, and
nothing becomes uncertain.  Pods of one size that fill all the nodes where they may be leave nothing
uncertain either: where that is not looked at, 5,000 nodes 99 % full take 125 pins, not 8.  Such moves go
first, the largest before others, and those that make room for them; then those for which several nodes are
equally good.  A pin comes last, to where it wastes the least room.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, islice

import numpy as np

from planner.landing.landing import Considered, Landing
from planner.landing.room import WaveRoom
from planner.moves.trial_cluster import EvictionTimeline, Move, TrialCluster
from planner.problem.nodes import Ints, Mask
from planner.proof import move_effort as effort
from planner.waves.candidates import Candidates, Within


class LargestFirst:
    """Puts moves into the order in which room lasts longest."""

    def __init__(self, trial: TrialCluster, moves: Iterable[Move]) -> None:
        self._trial = trial
        template_of = {move.pod: trial.template(move.pod) for move in moves}
        classes = {t: math.frexp(float(trial.sizes[t]))[1] for t in {*template_of.values()}}
        #: Pods of about the same size are of one class.
        self._size_of = {pod: classes[template] for pod, template in template_of.items()}
        self._nodes = cache(self._nodes_of)

    def size(self, move: Move) -> int:
        """The class of a pod's size."""
        return self._size_of[move.pod]

    def key(self, move: Move) -> int:
        return -self.size(move)

    def near(self, move: Move, node: int) -> Mask:
        """The nodes in the same domains as a node, for the constraints of a move's pod."""
        return self._nodes(*self._domain(move, node))

    def _domain(self, move: Move, node: int) -> tuple[int, int]:
        """The template of a move's pod, and the number of a node's domains."""
        template = self._trial.template(move.pod)
        return template, int(self._trial.domains(template)[node])

    def _nodes_of(self, template: int, number: int) -> Mask:
        found: Mask = self._trial.domains(template) == number
        return found

    def groups(self, ready: Iterable[Move], left: Sequence[Move]) -> list[list[Move]]:
        """Ready moves that take nothing from larger ones: the largest, then class by class all others.

        Of every class those that make way come first, node by node, and once more with the rest.
        """
        allowed = self._allowed(ready, left)
        ways = self.making_way(allowed, left)
        found: list[list[Move]] = []
        for size in dict.fromkeys(map(self.size, allowed)):
            alike = [[move for move in moves if self.size(move) == size] for moves in (*ways, allowed)]
            found += alike if found else [alike[-1], *alike[:-1]]
        return found

    def making_way(self, ready: Iterable[Move], left: Iterable[Move]) -> list[list[Move]]:
        """Ready moves that leave a node to which a larger one is to come, node by node.

        First for the largest, and of the node that needs the fewest: a gap that is too small serves no pod.
        """
        leaving: dict[int, list[Move]] = {}
        for move in ready:
            leaving.setdefault(move.source, []).append(move)
        found: list[tuple[int, int, list[Move]]] = []
        for move in left:
            before = [m for m in leaving.get(move.target, ()) if self.size(m) < self.size(move)]
            if before:
                found.append((self.key(move), len(before), before))
        return [moves for *_, moves in sorted(found, key=lambda one: one[:2])]

    def _allowed(self, ready: Iterable[Move], left: Sequence[Move]) -> list[Move]:
        """The ready moves that take no room from larger ones that are left; the largest first."""
        needed = self._needed_by_larger(left)
        allowed = [move for move in ready if not needed[self.size(move)][move.target]]
        # A pod that stays in its domain frees a node there, and fewer nodes serve it than serve others.
        return sorted(
            allowed, key=lambda move: (self.key(move), not self.near(move, move.source)[move.target])
        )

    def _needed_by_larger(self, left: Iterable[Move]) -> dict[int, Mask]:
        """For every class the nodes to whose domains more pods of a larger one are to come than to leave."""
        coming: dict[int, Counter[tuple[int, int]]] = {}
        for move in left:
            counts = coming.setdefault(self.size(move), Counter())
            counts[self._domain(move, move.target)] += 1
            counts[self._domain(move, move.source)] -= 1
        found, needed = dict[int, Mask](), self._trial.problem.nodes.none
        for size, counts in sorted(coming.items(), reverse=True):
            found[size] = needed
            balance = np.zeros(len(needed), np.int64)
            for domain, number in counts.items():
                balance += number * self._nodes(*domain)
            needed = needed | (balance > 0)
        return found


class ScarceRoom:
    """Moves that add the least uncertainty first."""

    def __init__(self, candidates: Candidates, moves: Sequence[Move]) -> None:
        self._candidates = candidates
        self._trial = candidates.trial
        self._room = candidates.landings.room
        self._order = LargestFirst(self._trial, moves)
        self._scarce = scarce_resources(candidates.timeline, moves)
        #: The planned node by pod and source: a pod may move more than once.
        self._planned = {(move.pod, move.source): move.target for move in moves}
        #: The landings of the last wave.
        self._landed: Sequence[Landing] = ()
        #: For templates the nodes that may have room now.
        self._fits: dict[int, Mask] = {}
        candidates.within = Within(self._near, self._open)

    def commit(self, wave: Sequence[Landing]) -> Sequence[Landing]:
        self._landed = self._candidates.landings.commit(wave)
        resolve(self._room, self._landed, self._scarce)
        return self._landed

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """A wave of what adds the least uncertainty, of the largest pods before others."""
        self._fits.clear()
        self._swap(left)
        ready = [*self._candidates.ready(left)]
        groups = self._order.groups(ready, left)
        found = self._wave_of(ready, groups, left)
        if not found and self._candidates.forget_refusals():
            found = self._wave_of(ready, groups, left)
        return found

    def _wave_of(
        self, ready: Sequence[Move], groups: Sequence[Sequence[Move]], left: list[Move]
    ) -> Sequence[Landing]:
        """A wave of ready moves; `groups` are those that take nothing from larger ones, the largest first."""
        largest, *others = groups or [[]]
        return (
            self._to_the_only_node(largest)
            or next(filter(None, (self._alone([move]) for move in self._different(largest))), [])
            or next(filter(None, map(self._to_the_only_node, others)), [])
            or self._with_a_pin(largest, left)
            or next(filter(None, map(self._to_any_node, others)), [])
            or self._with_a_pin(self._in_the_way(ready, left), left)
        )

    def _in_the_way(self, ready: Sequence[Move], left: Sequence[Move]) -> Iterable[Move]:
        """Moves that make room for larger ones, then all ready moves; each time the largest first."""
        largest_first = sorted(ready, key=self._order.key)
        return chain(*self._order.making_way(largest_first, left), largest_first)

    # The kinds of waves

    def _alone(self, moves: Iterable[Move]) -> Sequence[Landing]:
        return self._candidates.alone(moves, Considered(pins=False))

    def _to_the_only_node(self, moves: Iterable[Move]) -> Sequence[Landing]:
        """All of some moves that have a single node with room each."""
        alone = self._alone(m for m in moves if np.count_nonzero(self._open(m)) == 1)
        return self._candidates.together(alone)

    def _to_any_node(self, moves: Iterable[Move]) -> Sequence[Landing]:
        """Some moves that hold on whichever node they land."""
        different = self._different(moves)
        while some := [*islice(different, effort.SCARCE_TOGETHER)]:
            found = self._candidates.together(self._alone(some))
            if found:
                return found
        return []

    def _with_a_pin(self, moves: Iterable[Move], left: list[Move]) -> Sequence[Landing]:
        """The first of some moves that can be pinned, to the node with the least room left over."""
        if self._candidates.rules.evict_only:
            return []
        for move in moves:
            for node in self._certain(move)[:1].tolist():
                pinned = replace(move, target=node)
                found = self._candidates.alone([pinned], Considered(plain=True))
                if found:
                    left[left.index(move)] = pinned
                    return found
        return []

    # Where replacements may land

    def _near(self, move: Move) -> Mask:
        """The planned domain: elsewhere a replacement would take another move's place."""
        return self._order.near(move, move.target)

    def _open(self, move: Move) -> Mask:
        """The nodes in the planned domain that may have room for a replacement."""
        template, trial = self._trial.template(move.pod), self._trial
        if template not in self._fits:
            self._fits[template] = trial.has_room(template, self._room.free()) & trial.plan(template).static
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

    def _swap(self, left: list[Move]) -> None:
        """Give a move whose node another pod of its size has taken that pod's planned node.

        Without it another cluster of 5,000 nodes 99 % full takes 19 pins, not 7.
        """
        for landing in self._landed:
            move = landing.move
            here, free = move.target, self._planned[move.pod, move.source]
            for number, other in enumerate(left if here != free else ()):
                alike = self._order.size(other) == self._order.size(move)
                if alike and other.target == here and self._order.near(other, here)[free]:
                    left[number] = replace(other, target=free)
                    self._planned[other.pod, other.source] = free
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


def resolve(room: WaveRoom, landed: Iterable[Landing], scarce: Sequence[Mask]) -> None:
    """Resolve pods that just landed, if pods of one size fill all the nodes where they may be."""
    pods = {landing.move.pod for landing in landed}
    for uncertain in [one for one in room.uncertain_pods if one.pod in pods]:
        if uncertain in room.uncertain_pods:
            room.resolve(uncertain, scarce)


def scarce_resources(timeline: EvictionTimeline, moves: Sequence[Move]) -> list[Mask]:
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
