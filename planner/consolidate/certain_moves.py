"""Nodes emptied by moves that are certain: each has one target, all earlier moves having ended.

Where a replacement may not be pinned, it lands where the filters or the scores of kube-scheduler leave it no
other node.  So the state after every move is known.  First pods go where they are planned to; of the nodes
that are not empty then, each goes with all of its pods, or none of them moves: without that six clusters of 8
and 10 nodes whose spread constraints honour taints, so that nothing is cordoned, cost 22.98, not 17.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.layout import shares
from planner.landing.landing import Landing, PinPolicy
from planner.landing.single_landings import SingleLandings
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase
from planner.problem.nodes import Codes, Mask
from planner.proof import consolidation_effort as effort


@dataclass(frozen=True, slots=True)
class SafeMove:
    """A landing that holds; `alone` when it does only while no other move is under way.

    Pods of coupled templates move one at a time, but for those in a row with the same `together`.
    """

    landing: Landing
    alone: bool
    together: tuple[int, int] | None = None

    @property
    def others_cordoned(self) -> bool:
        """Whether all other nodes that it could land on are cordoned while it is under way."""
        return self.landing.kind == "cordoned" and not self.alone


class CertainMoves:
    """Empties nodes on a timeline, whose state follows; `moves` are those that end the sequence so far."""

    def __init__(
        self,
        timeline: EvictionTimeline,
        pin_policy: PinPolicy,
        planned: Sequence[Move],
        removed: Mask,
        is_over: Callable[[], bool],
    ) -> None:
        """Replacements go where moves were planned as far as that can be; never to `removed` nodes.

        Some moves are made even if the time is over.
        """
        self._timeline = timeline
        self._is_over = is_over
        self._trial = timeline.trial
        self._pin_policy = pin_policy
        self._landings = SingleLandings(
            timeline, pin_policy, while_away=False, most_cordoned=effort.EMPTYING_CORDONED
        )
        self._removed = removed
        problem = timeline.problem
        self._sizes = shares(problem)
        #: By template the nodes that its replacements are planned to come to, and the room that all take.
        self._coming: dict[int, Counter[int]] = {}
        self._reserved = np.zeros_like(problem.allocatable)
        for move in planned:
            self._reserve(self._trial.template(move.pod), move.target, 1)
        self.moves: list[SafeMove] = []

    def follow(self, pods: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Move pods, each with its node, to nodes planned for their template; returns those left.

        Those that come first move first: on kept nodes there is room until the others fill it.
        """
        left, before = [*pods], len(pods) + 1
        while len(left) < before:
            before = len(left)
            left = [*self._not_moved(left, self._to_planned)]
        return left

    def fill(self, pods: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """The same, one planned node after the other: those that come to a node can share cordons."""
        left, before = [*pods], len(pods) + 1
        while len(left) < before:
            before = len(left)
            waiting: dict[int, list[tuple[int, int]]] = {}
            for pod, node in left:
                waiting.setdefault(self._trial.template(pod), []).append((pod, node))
            templates: dict[int, list[int]] = {}
            for template in waiting:
                for node in self._coming.get(template, ()):
                    templates.setdefault(node, []).append(template)
            for node in sorted(templates):
                for template in sorted(templates[node], key=lambda one: -float(self._sizes[one])):
                    waiting[template] = [*self._not_moved_to(node, waiting[template])]
            left = [one for several in waiting.values() for one in several]
        return left

    def _not_moved_to(self, target: int, pods: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """The pods of a template that do not come to a node, or of which no more are planned there."""

        def to_target(pod: int, source: int) -> SafeMove | None:
            planned = self._is_planned(self._trial.template(pod), target)
            return self._beside_others(Move(pod, source, target)) if planned else None

        return self._not_moved(pods, to_target)

    def _is_planned(self, template: int, target: int) -> bool:
        """Whether a pod of a template is to come to a node, and has room there."""
        if target not in self._coming.get(template, ()):
            return False
        free = self._trial.problem.allocatable[:, target] - self._trial.state.used[:, target]
        wants = self._trial.taken[template]
        return bool(((wants == 0) | (free >= wants)).all())

    def _to_planned(self, pod: int, source: int) -> SafeMove | None:
        """The move to the tightest of the nodes that are planned for its template."""
        template = self._trial.template(pod)
        coming = np.array([*self._coming.get(template, ())], np.intp)
        if not coming.size:
            return None
        with self._trial.after():
            self._timeline.put(Move(pod, source, source), Phase.GONE)
            nodes = coming[self._trial.framework(template).accepts(self._trial.plan(template), coming)]
            gap = self._gap(nodes)
        best: list[int] = nodes[np.argsort(gap, kind="stable")][: effort.EMPTYING_TARGETS].tolist()
        return next(filter(None, (self._to(Move(pod, source, node)) for node in best)), None)

    def _is_enough(self) -> bool:
        """Whether the time is over, and some moves were made."""
        work = len(self.moves) * self._timeline.problem.nodes.size
        return work >= effort.EMPTYING_LEAST and self._is_over()

    def run(self, pods: Mapping[int, Sequence[int]], order: Iterable[int]) -> list[int]:
        """Empty the nodes of an order, again and again while any goes; returns those that do not go.

        `pods` are those to move by node.
        """
        waiting = [*order]
        while waiting and not self._is_over():
            before = len(waiting)
            waiting = [node for node in waiting if self._is_over() or not self._empties(node, pods[node])]
            if len(waiting) == before:
                break
        return waiting

    def _not_moved(
        self, pods: Sequence[tuple[int, int]], find: Callable[[int, int], SafeMove | None]
    ) -> Iterator[tuple[int, int]]:
        """The pods for which no move is found yet, each with its node; the others move."""
        refused: set[tuple[int, int]] = set()
        for pod, node in pods:
            key = self._trial.template(pod), node
            found = None if key in refused or self._is_enough() else find(pod, node)
            if found is None:
                refused.add(key)
                yield pod, node
            else:
                self._take(found)
                self._trial.state.forget_history()

    def _empties(self, node: int, pods: Sequence[int]) -> bool:
        """Whether all of a node's pods find another node; else nothing has changed."""
        state, mark, length = self._trial.state, self._trial.state.mark(), len(self.moves)
        coming = {template: found.copy() for template, found in self._coming.items()}
        reserved = self._reserved.copy()
        left = sorted(pods, key=self._largest_first)
        while left:
            found = next(self._possible(left, node), None)
            if found is None:
                state.rollback(mark)
                del self.moves[length:]
                self._coming, self._reserved = coming, reserved
                return False
            left.remove(found.landing.move.pod)
            self._take(found)
        state.forget_history()
        return True

    def _largest_first(self, pod: int) -> tuple[float, int]:
        template = self._trial.template(pod)
        return -float(self._sizes[template]), template

    def _take(self, found: SafeMove) -> None:
        """Carry out a move; of what was planned for its template one replacement less is to come."""
        move = found.landing.move
        template = self._trial.template(move.pod)
        self._timeline.put(move, Phase.LANDED)
        self.moves.append(found)
        coming = self._coming.get(template)
        if coming:
            self._reserve(template, move.target if move.target in coming else next(iter(coming)), -1)

    def _reserve(self, template: int, node: int, number: int) -> None:
        coming = self._coming.setdefault(template, Counter())
        coming[node] += number
        if not coming[node]:
            del coming[node]
        self._reserved[:, node] += number * self._trial.taken[template]

    def _possible(self, pods: Sequence[int], source: int) -> Iterator[SafeMove]:
        """The moves that can be next, of each template one."""
        for pod in {self._trial.template(pod): pod for pod in reversed(pods)}.values():
            found = (self._to(Move(pod, source, target)) for target in self._targets(pod, source))
            yield from islice(filter(None, found), 1)

    def _to(self, move: Move) -> SafeMove | None:
        """The move to its target, while others are under way if that can be, else alone."""
        found = self._beside_others(move)
        if found is not None:
            return found
        landing = self._landings.of(move)
        return None if landing is None else SafeMove(landing, alone=True)

    def _beside_others(self, move: Move) -> SafeMove | None:
        """The move to its target, pinned or with other nodes cordoned, whatever else is under way."""
        landing = self._landings.beside_others(move)
        return None if landing is None else SafeMove(landing, alone=False)

    def _targets(self, pod: int, source: int) -> list[int]:
        """The nodes that a replacement may be certain to come to, the best first."""
        template, policy = self._trial.template(pod), self._pin_policy
        with self._trial.after():
            self._timeline.put(Move(pod, source, source), Phase.GONE)
            found = self._tightest(template) if template in policy.pinnable | policy.cordonable else []
            if template not in policy.pinnable:
                chosen = self._trial.first_choice(template)
                found = found if chosen is None or self._removed[chosen] else [chosen, *found]
        return found

    def _gap(self, nodes: Codes) -> NDArray[np.float64]:
        """How much is free on each of some nodes, in shares of what they have."""
        allocatable = self._trial.problem.allocatable[:, nodes]
        free = allocatable - self._trial.state.used[:, nodes]
        return np.asarray((free / np.maximum(allocatable, 1)).sum(axis=0))

    def _tightest(self, template: int) -> list[int]:
        """A few nodes open to a replacement: the planned ones, then the tightest that no other needs."""
        trial = self._trial
        nodes = np.flatnonzero(trial.open_to(template) & ~self._removed)
        free = trial.free()[:, nodes]
        planned = np.isin(nodes, [*self._coming.get(template, ())])
        wants = self._trial.taken[template][:, np.newaxis]
        spare = ((wants == 0) | (free - self._reserved[:, nodes] >= wants)).all(axis=0)
        order = np.lexsort((self._gap(nodes), ~spare, ~planned))
        found: list[int] = nodes[order][: effort.EMPTYING_TARGETS].tolist()
        return found
