"""Fewer moves a few nodes at a time: what is on them is arranged anew, with all else as it is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection

import numpy as np

from planner.batch.packing.vectors import Arrangement
from planner.batch.pending import Pending
from planner.proof.meter import Meter


class Neighbourhoods:
    def __init__(self, pending: Pending, meter: Meter) -> None:
        self._pending = pending
        self._meter = meter
        self._random = random.Random(0)
        self._running = pending.running_counts()

    def improve(self, arrangement: Arrangement, tries: int) -> Arrangement:
        """The same pods with fewer moves, if some were found in so many tries."""
        for _ in range(tries):
            if self._meter.over():
                break
            nodes = self._draw(arrangement)
            if not nodes:
                break
            found = self._arranged(arrangement, nodes)
            if found is not None and sum(found.staying.values()) > sum(arrangement.staying.values()):
                arrangement = found
        return arrangement

    def _draw(self, arrangement: Arrangement) -> set[int]:
        """Some nodes that pods leave or come to, and some others."""
        leaving = {
            node
            for number, counts in self._running.items()
            for node in np.flatnonzero(counts).tolist()
            if arrangement.staying.get((number, node), 0) < counts[node]
        }
        if not leaving:
            return set()
        moving = sorted(leaving | {node for (_, node), pods in arrangement.coming.items() if pods})
        chosen = set(
            self._random.sample(moving, min(self._meter.effort.evictions.nearby_moving, len(moving)))
        )
        every = range(self._pending.problem.nodes.size)
        while len(chosen) < min(self._meter.effort.evictions.nearby_nodes, len(every)):
            chosen.add(self._random.choice(every))
        return chosen

    def _arranged(self, arrangement: Arrangement, nodes: Collection[int]) -> Arrangement | None:
        """All pods on the nodes, with as few evictions from them as possible."""
        from planner.cpsat.model import BatchModel
        from planner.cpsat.variables import Batch

        wanted: Counter[int] = Counter()
        outside = Counter(arrangement.coming) + Counter(arrangement.staying)
        for (number, node), pods in list(outside.items()):
            if node in nodes:
                wanted[number] += pods
                del outside[number, node]
        mark = self._bind(outside)
        inside = self._pending.problem.nodes.mask_of([*nodes])
        there = {t: np.where(inside, self._running[t], 0) for t in wanted if t in self._running}
        batch = Batch(self._pending.problem, wanted, self._pending.room_on(nodes, wanted), running=there)
        model = BatchModel(batch, [(f, own & wanted.keys()) for f, own in self._pending.profiles()])
        self._pending.state.rollback(mark)
        model.at_least(self._pending.by_priority(wanted))
        found = model.solve(
            [model.moves(self._meter.effort.evictions.nearby_once_work, open=True)], None, self._meter
        )
        if found is None:
            return None
        return Arrangement(
            {key: n for key, n in arrangement.coming.items() if key[1] not in nodes} | found.phases[0],
            {key: n for key, n in arrangement.staying.items() if key[1] not in nodes} | found.staying,
        )

    def _bind(self, placement: Counter[tuple[int, int]]) -> int:
        """Bind what is elsewhere, and return the mark before it."""
        state = self._pending.state
        mark = state.mark()
        pods = {number: iter(every) for number, every in self._pending.every.items()}
        for (number, node), count in placement.items():
            for _ in range(count):
                state.bind(next(pods[number]), node)
        return mark
