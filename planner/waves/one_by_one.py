"""Waves of one move each, to one certain node.

A wave of one pod depends on no other move under way.  So moves that were found one by one can be scheduled
here even where several at once would not be safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.landing.landing import Landing
from planner.landing.single_landings import SingleLandings
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move
from planner.waves.open_waves import WaveRules


class OneByOne:
    """Plans waves of one move each and carries them out on a timeline."""

    def __init__(self, timeline: EvictionTimeline, moves: Sequence[Move], rules: WaveRules) -> None:
        self._timeline = timeline
        self._left = list(moves)
        self._landings = SingleLandings(timeline, rules.pin_policy, lets_preempt=rules.lets_preempt)
        self.waves: list[list[Landing]] = []

    def plan_waves(self, is_over: Callable[[], bool]) -> Sequence[Move]:
        """Plan all waves; returns the moves that could not be scheduled safely."""
        while self._left and not is_over():
            landing = next(self._possible(), None)
            if landing is None:
                break
            self._left.remove(landing.move)
            self._timeline.put(landing.move, Phase.LANDED)
            self.waves.append([landing])
            self._timeline.trial.state.forget_history()
        return self._left

    def _possible(self) -> Iterator[Landing]:
        """The landings of the moves that can be next, in the order of the plan."""
        pods = set[int]()
        for move in self._left:
            if move.pod not in pods:
                pods.add(move.pod)
                landing = self._landings.of(move)
                if landing is not None:
                    yield landing
