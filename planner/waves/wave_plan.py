"""A plan of waves, and which of two plans is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.landing.landing import HELD, Landing
from planner.moves.trial_cluster import Move


@dataclass(frozen=True, slots=True)
class WavePlan:
    """Waves, the moves that could not be scheduled safely, and the hard and soft excess that remains.

    `excess` counts soft excess only where soft constraints are to be repaired.  `weight` is the sum over all
    pods that move.  `soft_excess_left` is the soft excess where ties go to the smallest name, in any case.
    `unmet` are the moves left over where the rules need all of them, and not only what they repair.
    """

    waves: Sequence[Sequence[Landing]]
    left: Sequence[Move]
    excess: tuple[int, int]
    weight: int = 0
    soft_excess_left: int = 0
    unmet: int = 0

    @property
    def key(self) -> tuple[int, ...]:
        """The smaller, the better: excess, unmet, moves, pins, weight, soft excess, landings by scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        pins, by_scores = sum(kind in HELD for kind in kinds), kinds.count("scores")
        return *self.excess, self.unmet, len(kinds), pins, self.weight, self.soft_excess_left, by_scores

    @property
    def moves(self) -> list[Move]:
        """All moves in the order of their waves."""
        return [landing.move for wave in self.waves for landing in wave]

    @property
    def pinned(self) -> set[int]:
        """The pods whose replacements are pinned, or kept off cordoned nodes."""
        return {landing.move.pod for wave in self.waves for landing in wave if landing.kind in HELD}

    def is_as_planned(self, planned: Mapping[str, int]) -> bool:
        """Whether nothing could be better but the number of landings that rely on scores."""
        kinds = [landing.kind for wave in self.waves for landing in wave]
        improvable = not HELD.isdisjoint(kinds) or len(kinds) > planned["moves"] or self.soft_excess_left > 0
        return not (self.left or self.misses(planned) or improvable)

    def misses(self, planned: Mapping[str, int]) -> bool:
        """Whether more excess remains than the moves were to leave."""
        return self.excess > (planned["hardExcess"], planned["softExcess"])
