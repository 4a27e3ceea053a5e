"""Dry runs where evictions can change nothing that matters to a pod but room.

Then a dry run is plain arithmetic on one node's numbers.  All that it depends on is what is free there
and what each pod of lower priority is, so alike nodes are one dry run; and it stays valid until a pod
comes to the node or leaves it, so the next pod of the same needs finds nearly all of them made.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from planner.constraints.node_resources import NodeResourcesFit
from planner.problem.nodes import Ints
from planner.problem.templates import Template
from planner.scheduler.evictions import Candidate, Evictions
from planner.scheduler.free_room import FreeRoom
from planner.scheduler.lower_priority_pods import LowerPriorityPods
from planner.state.state import State

#: Beyond so many different dry runs those that were remembered are dropped.
_REMEMBERED = 100_000


class RoomTrials:
    """The dry runs for pods of one priority with one set of requests."""

    def __init__(
        self,
        state: State,
        fit: NodeResourcesFit,
        template: Template,
        lower: LowerPriorityPods,
        evictions: Evictions,
    ) -> None:
        self._state = state
        self._fit = fit
        self._template = template
        self._wanted = fit.wants(template)
        self._lower = lower
        self._evictions = evictions
        self._epoch, self._position = state.epoch, len(state.log)
        self._made: dict[int, Candidate] = {}
        #: For alike nodes, which of their lower-priority pods have to go, and how many budgets that breaks.
        self._alike: dict[Hashable, tuple[tuple[int, ...], int]] = {}

    def short(self) -> Ints:
        """For every node 0 where evictions open it, else a code for what would still be short."""
        _, load = self._lower.current()
        return np.asarray(self._fit.reject_without(self._template, load))

    def reasons(self, short: Ints) -> Iterator[tuple[tuple[str, ...], int]]:
        """What these codes say in kube's words, each list of reasons with the number of nodes."""
        for code, times in zip(*np.unique(short, return_counts=True), strict=True):
            yield self._fit.verdict(self._template, int(code)).reasons, int(times)

    def candidate(self, node: int) -> Candidate:
        """The fewest evictions that open a node which they do open."""
        if self._position != len(self._state.log) or self._epoch != self._state.epoch:
            self._forget_changed()
        found = self._made.get(node)
        if found is None:
            found = self._made[node] = self._make(node)
        return found

    def _forget_changed(self) -> None:
        state = self._state
        if self._epoch != state.epoch:
            self._made.clear()
        else:
            for node in state.log[self._position :]:
                self._made.pop(node, None)
        self._epoch, self._position = state.epoch, len(state.log)

    def _make(self, node: int) -> Candidate:
        lower = self._lower.on(node)
        room = FreeRoom(self._state, self._wanted, node)
        key = (room.spare, tuple(map(self._kind, lower)))
        known = self._alike.get(key)
        if known is None:
            if len(self._alike) >= _REMEMBERED:
                self._alike.clear()
            known = self._alike[key] = self._dry_run(node, lower, room)
        going, broken_budgets = known
        return self._evictions.candidate(node, [lower[place] for place in going], broken_budgets)

    def _kind(self, pod: int) -> Hashable:
        """All of a lower-priority pod that a dry run looks at, its place in the order apart."""
        return int(self._state.problem.template_of[pod]), self._evictions.budgets_of(pod)

    def _dry_run(self, node: int, lower: Sequence[int], room: FreeRoom) -> tuple[tuple[int, ...], int]:
        room.without(lower)
        found = self._evictions.fewest(node, lower, room.take_back)
        return tuple(lower.index(victim) for victim in found.victims), found.broken_budgets
