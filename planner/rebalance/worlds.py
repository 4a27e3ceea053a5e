"""Where replacements that scores led have come to: every way that ties may have been broken so far.

Scores look at more than counts and room, so they are asked in each of these worlds, one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import numpy as np

from planner.problem.nodes import Mask
from planner.proof import effort
from planner.rebalance.phases import Phase, Stage
from planner.rebalance.trial_cluster import Move

World = Mapping[int, int]


class Worlds:
    """The worlds that may have come about, over a stage that shows one of them."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._worlds: list[World] = [{}]

    def each(self) -> Iterator[None]:
        """The stage in every world, one after the other; after each it is as it was."""
        state = self._stage.board.state
        for world in self._worlds:
            mark = state.mark()
            for pod, node in world.items():
                if state.node_of[pod] != node:
                    state.unbind(pod)
                    state.bind(pod, node)
            try:
                yield
            finally:
                state.rollback(mark)

    def tops(self, move: Move, phase: Phase) -> Mask:
        """The nodes with the highest score for a replacement in the world that the stage shows."""
        board = self._stage.board
        mark = board.state.mark()
        self._stage.put(move, phase)
        feasible, totals = board.choice(board.template(move.pod))
        best = totals[feasible.mask].max() if feasible.count else 0
        board.state.rollback(mark)
        found: Mask = feasible.mask & (totals == best)
        return found

    def after(self, moves: Iterable[Move], phases: Mapping[int, tuple[Phase, ...]]) -> list[World] | None:
        """The worlds when some moves have landed by their scores; None when they are too many.

        `phases` says how far every pod may be then.  None of the moves bears on the scores of another.
        """
        found: dict[tuple[tuple[int, int], ...], World] = {}
        several = [*moves]
        for number, _ in enumerate(self.each()):
            places = [
                sorted({n for phase in phases[m.pod] for n in np.flatnonzero(self.tops(m, phase)).tolist()})
                for m in several
            ]
            for chosen in product(*places):
                world = {**self._worlds[number], **dict(zip((m.pod for m in several), chosen, strict=True))}
                found[tuple(sorted(world.items()))] = world
                if len(found) > effort.WORLDS_KEPT:
                    return None
        return [*found.values()]

    def become(self, worlds: list[World] | None) -> None:
        """Take these worlds for all that may be; without any, only what the stage shows is told apart."""
        self._worlds = worlds or [{}]
