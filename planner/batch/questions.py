"""Questions about packings by requests alone, put to the solver in the terms of a batch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.batch.pending import Pending
from planner.batch.vectors import Arrangement
from planner.proof.meter import Meter


class Questions:
    """Whether so many pods of each priority can be packed, running ones anywhere they might come to."""

    def __init__(self, pending: Pending) -> None:
        from planner.cpsat.packing import Kind, PackingModel

        self._pending = pending
        self._numbers = list(pending.pods)
        self._running = pending.running_counts()
        room = pending.room(pending.wanted)
        height = len(pending.problem.resources)
        nobody = np.zeros(pending.problem.nodes.size, np.int64)
        load = np.zeros_like(pending.state.used)
        kinds = []
        for number in self._numbers:
            wanted = np.zeros(height, np.int64)
            for row, amount in pending.wants(number):
                wanted[row] = amount
            running = self._running.get(number, nobody)
            load += wanted[:, np.newaxis] * running
            kinds.append(
                Kind(pending.wanted[number], pending.priority(number), wanted, room[number] + running)
            )
        free = np.maximum(pending.problem.allocatable - pending.state.used, load)
        self._model = PackingModel(kinds, free)

    def place(self, least: Mapping[int, int], meter: Meter, work: float) -> Arrangement | bool | None:
        """A packing with at least so many pods; False when there is none, None when that stayed open."""
        answer = self._model.place(least, meter, work)
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
