"""One move after the other, each to its certain node: where any order holds, this one does.

A wave of one pod asks nothing of others that are under way.  So moves that were found one by one find
their turns here, whatever several at once would come to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.landing.landing import Landing
from planner.landing.single_landings import SingleLandings
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move
from planner.waves.open_waves import WaveRules


class OneByOne:
    """Deals moves out to waves of one on a stage; they happen there."""

    def __init__(self, stage: EvictionTimeline, moves: Sequence[Move], rules: WaveRules) -> None:
        self._stage = stage
        self._left = list(moves)
        self._landings = SingleLandings(stage, rules.pin_policy, lets_preempt=rules.lets_preempt)
        self.waves: list[list[Landing]] = []

    def plan_waves(self, is_over: Callable[[], bool]) -> Sequence[Move]:
        """All waves; the moves that have no turn are returned."""
        while self._left and not is_over():
            landing = next(self._possible(), None)
            if landing is None:
                break
            self._left.remove(landing.move)
            self._stage.put(landing.move, Phase.LANDED)
            self.waves.append([landing])
            self._stage.trial.state.forget_history()
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
