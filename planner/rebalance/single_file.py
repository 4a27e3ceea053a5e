"""One move after the other, each to its certain node: where any order holds, this one does.

A wave of one pod asks nothing of others that are under way.  So moves that were found one by one find
their turns here, whatever several at once would come to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.rebalance.landing import Landing
from planner.rebalance.lone_landings import LoneLandings
from planner.rebalance.phases import Phase, Stage
from planner.rebalance.trial_cluster import Move
from planner.rebalance.waves import WaveRules


class SingleFile:
    """Deals moves out to waves of one on a stage; they happen there."""

    def __init__(self, stage: Stage, moves: Sequence[Move], rules: WaveRules) -> None:
        self._stage = stage
        self._left = list(moves)
        self._landings = LoneLandings(stage, rules.steering, lets_preempt=rules.lets_preempt)
        self.waves: list[list[Landing]] = []

    def deal(self, is_over: Callable[[], bool]) -> Sequence[Move]:
        """All waves; the moves that have no turn are returned."""
        while self._left and not is_over():
            landing = next(self._possible(), None)
            if landing is None:
                break
            self._left.remove(landing.move)
            self._stage.put(landing.move, Phase.LANDED)
            self.waves.append([landing])
            self._stage.board.state.forget_history()
        return self._left

    def _possible(self) -> Iterator[Landing]:
        """The landings of those moves that can be next, in the order of the plan."""
        pods = set[int]()
        for move in self._left:
            if move.pod not in pods:
                pods.add(move.pod)
                landing = self._landings.of(move)
                if landing is not None:
                    yield landing
