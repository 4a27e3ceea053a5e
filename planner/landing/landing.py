"""A landing: the nodes that a replacement may land on, what restricts it to them, and preferences."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from planner.documents.move_plan import Place
from planner.moves.pin_policy import NO_PINS, PinPolicy
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Mask


class LandingContradiction(Exception):
    """A wave does not lead to what it was judged to lead to, so the wave plan cannot be used."""


Kind = Literal["filters", "scores", "pinned", "cordoned"]
#: The kinds that need more than an eviction.
HELD = frozenset({"pinned", "cordoned"})


@dataclass(frozen=True, slots=True)
class Landing:
    """A move, the nodes that its replacement may land on, and what restricts it to them.

    `place` describes the nodes to the user; the move's own target is the node when ties go to the smallest
    name.  A pinned landing without `pin` is pinned to `place`; a wider `pin` keeps further nodes visible to
    constraints, on which the replacement cannot land.  `cordon` are the nodes cordoned meanwhile.
    """

    move: Move
    kind: Kind
    nodes: Mask
    place: Place
    pin: Place | None = None
    cordon: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LandingPreferences:
    """How replacements should land beyond being as good as planned.

    Pinned or cordoned only as `pin_policy` allows.  Pods in `again` must land on their planned node, as they
    move once more; those in `certain` on a node known beforehand if scores decide that, those in `fixed`
    with a pin if need be.  Templates in `as_planned` land in the planned domains.
    """

    pin_policy: PinPolicy = NO_PINS
    again: Collection[int] = ()
    certain: Collection[int] = ()
    fixed: Collection[int] = ()
    as_planned: Collection[int] = ()
