"""Nodes emptied by evictions alone, whichever nodes kube-scheduler chooses for the replacements.

Nothing leads a replacement here, so after a few of them nobody knows what is free on a node.  What holds all
the same is counted for all pods that move together: each finds a node however the others have landed, and no
hard constraint is worse then.

Room: the others close no more nodes to a pod than what they request is enough to fill until less is free
than it needs, the nodes first that lack least: each resource by itself, or of each pod the one that it takes
most of.  By a rule of one pod a node each closes one more.  Where a constraint over nodes counts fewer pods
than there are nodes, some node has none, so its minimum stays 0.  For one over other domains all counts are
followed that evictions and landings can lead to, in the order of the waves: each time some domain admits the
pod and has room, and wherever it lands no more is too many.  Nodes with pods about which more would have to
be known stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from models.errors import InternalError
from planner.consolidate.certain_moves import SafeMove
from planner.consolidate.open_templates import OpenTemplates
from planner.consolidate.possible_counts import CountedMove, PossibleCounts, simultaneous
from planner.landing.landing import Landing
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase, TrialCluster
from planner.problem.nodes import Ints, Mask
from planner.proof import consolidation_effort as effort

#: Sums of what nodes lack are not exact: a little more counts as enough to fill them.
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class _OpenNodes:
    """How many nodes are open to a template, which templates may come there, and what closes the nodes.

    `lacking` has for each resource the sums of what has to be taken until the first nodes are too full.
    `least` has the same sums in one measure of all resources, of the one that each node lacks least of, and
    `largest` what a pod of each template takes in it, of the one that it takes most of.
    """

    number: int
    may_come: Mask
    lacking: Mapping[int, NDArray[np.float64]]
    least: NDArray[np.float64]
    largest: NDArray[np.float64]

    def filled(self, others: Ints, taken: Ints) -> int:
        """How many nodes so many other pods of each template can make too full at most; each takes an amount.

        One bound is what each resource is enough for by itself, added up.  The other is what the largest
        parts are enough for: of a node that is too full its pods exhaust some resource.
        """
        requests = others @ taken
        by_resource = sum(_filled(requests[row], sums) for row, sums in self.lacking.items())
        return min(by_resource, _filled(float(others @ self.largest), self.least), int(others.sum()))


def _filled(amount: float, sums: NDArray[np.float64]) -> int:
    """How many of the nodes that lack least an amount fills."""
    return int(np.searchsorted(sums, amount * _ROUNDING, side="right"))


class OpenRoom:
    """The room on the nodes that are open to templates, as it is now."""

    def __init__(self, trial: TrialCluster, templates: OpenTemplates) -> None:
        self._trial = trial
        self._templates = templates
        self._free = trial.free()
        self._nodes = cache(self._nodes_of)

    def is_enough(self, template: int, domain: int | None, landed: Ints, evicted: Ints) -> bool:
        """Whether a node of a domain, or of all, stays open to a pod of a template.

        By template, `evicted` has the pods that move, itself included, and `landed` the most that may be
        there.
        """
        found = self._nodes(template, domain)
        others = np.where(found.may_come, landed, 0)
        others[template] = min(int(others[template]), int(evicted[template]) - 1)
        apart = [*self._templates.open_to(template).apart]
        return found.number > found.filled(others, self._trial.taken) + int(others[apart].sum())

    def _nodes_of(self, template: int, domain: int | None) -> _OpenNodes:
        open_to = self._templates.open_to(template)
        nodes = np.flatnonzero(open_to.nodes)
        if open_to.spread is not None:
            nodes = nodes[open_to.spread.domain_of[nodes] == domain]
        wants, taken = self._trial.room_needed[template], self._trial.taken
        rows = np.flatnonzero(wants)
        less = (self._free[np.ix_(rows, nodes)] - wants[rows, np.newaxis] + 1).astype(np.float64)
        mean = less.mean(axis=1)
        sums = np.cumsum(np.sort(less, axis=1), axis=1)
        least = np.cumsum(np.sort((less / mean[:, np.newaxis]).min(axis=0, initial=np.inf)))
        largest = (taken[:, rows] / mean).max(axis=1, initial=0)
        lacking = dict(zip(rows.tolist(), sums, strict=True))
        return _OpenNodes(len(nodes), self._templates.may_come_to(nodes), lacking, least, largest)


@dataclass(frozen=True, slots=True)
class _Evicted:
    """The pods of all nodes that go so far: how many of each template, and what constraints may count."""

    number: Ints
    counts: Mapping[int, PossibleCounts]


class OpenLandings:
    """Empties nodes on a timeline; `moves` are those that end its sequence."""

    def __init__(
        self,
        timeline: EvictionTimeline,
        removed: Mask,
        pods: Mapping[int, Sequence[int]],
        is_over: Callable[[], bool],
        most: int,
    ) -> None:
        """All `pods` of some `removed` nodes are still there; all removed nodes are cordoned.

        At most `most` pods that a constraint counts are under way at once.
        """
        self._timeline = timeline
        self._trial = timeline.trial
        self._pods = pods
        self._is_over = is_over
        self._most = most
        moving = [pod for several in pods.values() for pod in several]
        self._templates = OpenTemplates(timeline.trial, removed, moving)
        self._room = OpenRoom(timeline.trial, self._templates)
        self.moves: list[SafeMove] = []

    def run(self, order: Sequence[int]) -> list[int]:
        """Empty nodes, as many at a time as can go; returns those that stay as they are.

        Those with pods to which the most nodes are open come first, then those that are first in the order.
        It ends early where many in succession find too little room, and when the time is over: then some were
        tried.
        """
        evicted, gone = _Evicted(np.zeros(len(self._trial.problem.templates), np.int64), {}), list[int]()
        waiting = [node for node in order if all(map(self._may_land_anywhere, self._pods[node]))]
        waiting.sort(key=lambda node: -min(map(self._fewest_nodes, self._pods[node])))
        size, crowded = len(waiting), 0
        while waiting and crowded < effort.EMPTYING_CROWDED:
            size = min(size, len(waiting))
            found = self._with_more(evicted, waiting[:size])
            if found is not None and self._all_find_room(found):
                evicted, crowded = found, 0
                gone += waiting[:size]
                waiting, size = waiting[size:], 2 * size
            elif size > 1:
                size //= 2
                continue
            else:
                waiting, crowded = waiting[1:], crowded + (found is not None)
            if self._is_over():
                break
        leaving, emptied = [(pod, node) for node in gone for pod in self._pods[node]], {*gone}
        together = self._together(leaving, evicted) if self._most > 1 else {}
        self.moves = [self._move(pod, node, together.get(pod)) for pod, node in leaving]
        return [node for node in order if node not in emptied]

    def _together(
        self, leaving: Sequence[tuple[int, int]], evicted: _Evicted
    ) -> Mapping[int, tuple[int, int]]:
        """By pod its constraint, if one counts it, and the number of the set of moves under way at once."""
        counted: dict[TrackedConstraint, list[tuple[int, CountedMove]]] = defaultdict(list)
        for pod, node in leaving:
            template = self._trial.template(pod)
            spread = self._templates.open_to(template).spread
            if spread is not None:
                counted[spread.constraint].append((pod, spread.move(template, node)))
        found, landed = dict[int, tuple[int, int]](), dict[tuple[str, int], Ints]()
        for constraint, several in counted.items():
            moves, start = [move for _, move in several], PossibleCounts.of(constraint)
            roomy = {move.template: self._roomy(move.template, evicted, landed) for move in {*moves}}
            numbers = simultaneous(start, moves, self._most, roomy)
            found |= {
                pod: (constraint.number, number) for (pod, _), number in zip(several, numbers, strict=True)
            }
        return found

    def coupled(self) -> Iterator[Sequence[int]]:
        """The templates whose pods move one at a time, as what counts them was followed."""
        templates = {self._trial.template(one.landing.move.pod) for one in self.moves}
        for spread in (self._templates.open_to(template).spread for template in templates):
            if spread is not None:
                yield [*spread.constraint.members]

    def _may_land_anywhere(self, pod: int) -> bool:
        return self._templates.of(self._trial.template(pod)) is not None

    def _fewest_nodes(self, pod: int) -> int:
        return self._templates.open_to(self._trial.template(pod)).fewest_nodes

    def _with_more(self, evicted: _Evicted, nodes: Sequence[int]) -> _Evicted | None:
        """The pods of some nodes evicted, too; None where a constraint may not hold then."""
        number, counts = evicted.number.copy(), dict(evicted.counts)
        for node in nodes:
            for pod in self._pods[node]:
                template = self._trial.template(pod)
                number[template] += 1
                spread = self._templates.open_to(template).spread
                if spread is None:
                    continue
                key = spread.constraint.number
                before = counts.get(key) or PossibleCounts.of(spread.constraint)
                after = before.after(spread.move(template, node))
                if after is None:
                    return None
                counts[key] = after
        return _Evicted(number, counts)

    def _all_find_room(self, evicted: _Evicted) -> bool:
        """Whether each pod finds a node wherever the others land."""
        landed: dict[tuple[str, int], Ints] = {}
        templates = np.flatnonzero(evicted.number).tolist()
        return all(self._finds_room(template, evicted, landed) for template in templates)

    def _finds_room(self, template: int, evicted: _Evicted, landed: dict[tuple[str, int], Ints]) -> bool:
        """Whether each pod of a template does; `landed` keeps what may be where."""
        spread, number = self._templates.open_to(template).spread, evicted.number
        if spread is None:
            return self._room.is_enough(template, None, number, number)
        roomy = self._roomy(template, evicted, landed)
        admitted = evicted.counts[spread.constraint.number].admitted[template]
        return not any(roomy.isdisjoint(domains) for domains in admitted)

    def _roomy(self, template: int, evicted: _Evicted, landed: dict[tuple[str, int], Ints]) -> set[int]:
        """The domains of its constraint in which each pod of a template finds room."""
        spread, found = self._templates.open_to(template).spread, set[int]()
        if spread is None:
            return found
        key = spread.constraint.rule.column.key
        for domain in spread.open_domains:
            if (key, domain) not in landed:
                landed[key, domain] = self._landed_at_most(evicted, key, domain)
            if self._room.is_enough(template, domain, landed[key, domain], evicted.number):
                found.add(domain)
        return found

    def _landed_at_most(self, evicted: _Evicted, key: str, domain: int) -> Ints:
        """How many of the evicted pods of each template may be in a domain."""
        found = evicted.number.copy()
        for template in np.flatnonzero(found).tolist():
            spread = self._templates.open_to(template).spread
            if spread is not None and spread.constraint.rule.column.key == key:
                counts = evicted.counts[spread.constraint.number]
                found[template] = min(int(found[template]), counts.landed_at_most(domain))
        return found

    def _move(self, pod: int, node: int, together: tuple[int, int] | None) -> SafeMove:
        """The move of a pod as it is made when ties go to the smallest name."""
        template = self._trial.template(pod)
        self._timeline.put(Move(pod, node, node), Phase.GONE)
        feasible, totals = self._trial.choice(template)
        nodes = np.flatnonzero(feasible.mask)
        if not nodes.size:
            raise InternalError(f"{self._trial.problem.pods[pod].key} was to find a node, and does not")
        move = Move(pod, node, int(nodes[np.argmax(totals[nodes])]))
        self._timeline.put(move, Phase.LANDED)
        self._trial.state.forget_history()
        found = self._templates.open_to(template)
        return SafeMove(Landing(move, "filters", found.nodes, found.place), alone=False, together=together)
