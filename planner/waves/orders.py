"""The orders in which moves come into waves, and the one loop that fills waves in such an order.

| order | when it is used | what is worse without it |
|---|---|---|
| `CertainFirst` | always but where `ScarceRoom` is | it is the plain order |
| `ScarceRoom` | large clusters, few nodes for most moves | 5,000 nodes at 99 %: 154 left, 98 pins, not 8 |
| `KnownNodes` | where those leave moves, if pins are allowed | 2,000 nodes at 99 %: 156 pins, not 1 |
| `OneMoveAWave` | where waves of several moves fail in the replay | the plan; and why moves are left over |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from planner.landing.landing import Landing
from planner.landing.single_landings import SingleLandings
from planner.moves.trial_cluster import Move
from planner.proof import effort
from planner.waves.candidates import Candidates


class WaveOrder(Protocol):
    """Says which moves come next, and carries them out."""

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """The landings of the next wave; none if none of the moves `left` holds.

        An order may exchange moves that are left for others of the same pods.
        """

    def commit(self, wave: Sequence[Landing]) -> Sequence[Landing]:
        """Carry out a wave; its landings with the targets reached when ties go to the smallest name."""


def fill_waves(
    order: WaveOrder, moves: Sequence[Move], is_over: Callable[[], bool]
) -> tuple[list[Sequence[Landing]], Sequence[Move]]:
    """Waves for moves, and the moves that could not be scheduled safely."""
    waves, left = list[Sequence[Landing]](), list(moves)
    while left and not is_over():
        wave = order.next_wave(left)
        if not wave:
            break
        done = [landing.move for landing in wave]
        left = [move for move in left if move not in done]
        waves.append(order.commit(wave))
    return waves, left


class CertainFirst:
    """As many moves as hold together; pinned moves only when no others can go first.

    What those others change may make the pin unnecessary.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self.commit = candidates.landings.commit

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """The moves that go first, while every landing is certain; else all without a pin; else with pins."""
        found = self._candidates
        found.begin_wave(left)
        pins = not found.rules.evict_only
        careful = found.work <= effort.JUDGED_WITH_CARE or not pins
        free = found.alone(found.ready(left), pins=False) if careful else []
        rank = max((found.first.get(landing.move.pod, 0) for landing in free), default=0)
        free = [landing for landing in free if found.first.get(landing.move.pod, 0) == rank]
        by_scores = [landing for landing in free if landing.kind == "scores"]
        if by_scores:
            # While every landing is certain: a replacement with several possible nodes would end that.
            certain = [landing for landing in free if int(landing.nodes.sum()) == 1]
            return found.together(certain or [found.landings.most_certain(by_scores)])
        fixed = found.alone((move for move in found.ready(left) if move.pod in found.fixed), pins=pins)
        if not fixed and not free:
            free = found.alone(found.ready(left), pins=pins, again=True)
        return found.together(fixed or free)


class OneMoveAWave:
    """The first move that holds alone: it depends on no other move under way."""

    def __init__(self, landings: SingleLandings) -> None:
        self._landings = landings
        self.commit = landings.commit

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """The landing of the next move, in the order of the plan."""
        seen = set[int]()
        for move in left:
            landing = None if move.pod in seen else self._landings.of(move)
            if landing is not None:
                return [landing]
            seen.add(move.pod)
        return []
