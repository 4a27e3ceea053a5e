"""Whether so many pods can be packed by requests alone, where hardly anything may stay free on any node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from planner.batch.packing.patterns import PackingPatterns, PatternRoom
from planner.batch.packing.vectors import Arrangement
from planner.batch.pending import Pending
from planner.proof.meter import Meter


class Covers:
    """Packings put together from patterns of nodes; running pods may be anywhere they might come to."""

    def __init__(self, pending: Pending) -> None:
        from planner.cpsat.cover import PackingKind

        self._numbers = list(pending.pods)
        self._running = pending.running_counts()
        room = pending.room(pending.wanted)
        none_running = np.zeros(pending.problem.nodes.size, np.int64)
        load = np.zeros_like(pending.state.used)
        wants = pending.room_needed[self._numbers]
        for number, wanted in zip(self._numbers, wants, strict=True):
            load += wanted[:, np.newaxis] * self._running.get(number, none_running)
        free = np.maximum(pending.problem.allocatable - pending.state.used, load)
        kinds = []
        for number, own in zip(self._numbers, wants, strict=True):
            fits = np.full_like(none_running, pending.wanted[number])
            for row in np.flatnonzero(own).tolist():
                fits = np.minimum(fits, free[row] // int(own[row]))
            most = np.minimum(fits, room[number] + self._running.get(number, none_running))
            kinds.append(PackingKind(pending.wanted[number], pending.priority(number), own, most))
        self._kinds, self._free = kinds, free

    def find(self, least: Mapping[int, int], meter: Meter) -> Arrangement | bool | None:
        """A packing with at least so many pods of each priority.

        False when there is none, None when that stayed open.
        """
        from planner.cpsat.cover import Alike, CoverModel

        patterns = PackingPatterns(np.array([kind.wanted for kind in self._kinds]), meter)
        waste = self._waste(least)
        groups = []
        for nodes in self._alike():
            free = self._free[:, nodes[0]]
            most = tuple(min(kind.pods, int(kind.room[nodes[0]])) for kind in self._kinds)
            found = patterns.of(PatternRoom(tuple(free.tolist()), waste, most))
            if found is None:
                return None
            groups.append(Alike(tuple(nodes), free, found))
        work = meter.effort.patterns.cover_work
        return self._arranged(CoverModel(groups, self._kinds, least).solve(meter, work))

    def _waste(self, least: Mapping[int, int]) -> tuple[int, ...]:
        """Of every resource, how much may stay free at most when so many pods have a place."""
        needed = np.zeros(len(self._free), np.int64)
        for priority, pods in least.items():
            own = [kind for kind in self._kinds if kind.priority == priority]
            amounts = np.repeat([kind.wanted for kind in own], [kind.pods for kind in own], axis=0)
            needed += np.sort(amounts, axis=0)[:pods].sum(axis=0)
        return tuple((self._free.sum(axis=1) - needed).tolist())

    def _alike(self) -> Iterable[list[int]]:
        """Nodes that have the same free and take the same pods."""
        groups: dict[bytes, list[int]] = defaultdict(list)
        rooms = np.array([kind.room for kind in self._kinds])
        for node in range(self._free.shape[1]):
            groups[self._free[:, node].tobytes() + rooms[:, node].tobytes()].append(node)
        return groups.values()

    def _arranged(self, answer: dict[tuple[int, int], int] | bool | None) -> Arrangement | bool | None:
        """As many stay as run where their template goes on."""
        if not isinstance(answer, dict):
            return answer
        coming, staying = {}, {}
        for (position, node), pods in answer.items():
            number = self._numbers[position]
            stay = min(pods, int(self._running[number][node])) if number in self._running else 0
            if stay:
                staying[number, node] = stay
            if pods > stay:
                coming[number, node] = pods - stay
        return Arrangement(coming, staying)
