"""A landing: where a replacement may come to, what holds it there, and what is wished for beyond that."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from planner.documents.move_plan import Place
from planner.moves.pin_policy import NO_PINS, PinPolicy
from planner.moves.trial_cluster import Move
from planner.problem.nodes import Mask


class LandingContradiction(Exception):
    """What a wave leads to is not what it was judged to lead to: such a deal is of no use."""


Kind = Literal["filters", "scores", "pinned", "cordoned"]
#: The kinds that take more than an eviction.
HELD = frozenset({"pinned", "cordoned"})


@dataclass(frozen=True, slots=True)
class Landing:
    """A move, the nodes that its replacement may come to, and what holds it there.

    `place` says the nodes to a person; the move's own target is where the smallest name leads.  A pin
    without `pin` names just that place; a wider one leaves nodes to constraints that nobody lands on.
    `cordon` are the nodes that are closed meanwhile.
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

    Steered only as `pin_policy` allows; on the very nodes that were planned (`again`, as these pods move once
    more); on nodes that are known beforehand, if scores say it (`certain`), or by a pin as well (`fixed`);
    for templates, in the domains that were planned.
    """

    pin_policy: PinPolicy = NO_PINS
    again: Collection[int] = ()
    certain: Collection[int] = ()
    fixed: Collection[int] = ()
    as_planned: Collection[int] = ()
