"""A plan played through once more from the start, in the order it is printed and in others.

Every eviction, end and landing is one event; within a wave they come in any order that nature allows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from planner.rebalance.excess_ledger import levels, worse
from planner.rebalance.phases import Phase, Stage
from planner.rebalance.waves import Landing


def failures(stage: Stage, waves: Sequence[Sequence[Landing]], *, seed: int | None) -> Iterator[str]:
    """What goes otherwise than planned: one after the other without a seed, else in a random mixture.

    The stage is left as it was found.
    """
    draw = None if seed is None else random.Random(seed)
    start = stage.board.state.mark()
    for number, wave in enumerate(waves, start=1):
        demands = {
            landing: stage.board.ledger.touched((stage.board.template(landing.move.pod),)) for landing in wave
        }
        before = {landing: levels(found) for landing, found in demands.items()}
        for landing, phase in _events(stage, wave, draw):
            if phase is Phase.LANDED:
                yield from _misses(stage, number, landing)
            stage.put(landing.move, phase)
            # No other constraint than those of its own template can be worse by this event.
            if worse(before[landing], demands[landing]):
                name = _name(stage, landing)
                yield f"wave {number}: a constraint is worse than before with {name} {phase.name}"
        stage.put_all((landing.move for landing in wave), Phase.LANDED)
    stage.board.state.rollback(start)


def _events(
    stage: Stage, wave: Sequence[Landing], draw: random.Random | None
) -> Iterator[tuple[Landing, Phase]]:
    """What happens in a wave, and when; a pod may end before or after its replacement has landed."""
    lines = [[(landing, Phase.LEAVING), *_rest(stage, landing, draw)] for landing in wave]
    if draw is None:
        for line in lines:
            yield from line
        return
    while any(lines):
        yield draw.choice([line for line in lines if line]).pop(0)


def _rest(stage: Stage, landing: Landing, draw: random.Random | None) -> list[tuple[Landing, Phase]]:
    ends_first = stage.waits_for_the_end(landing.move) or draw is None or draw.random() < 0.5  # noqa: PLR2004
    return [(landing, phase) for phase in ((Phase.GONE,) if ends_first else ())] + [(landing, Phase.LANDED)]


def _misses(stage: Stage, number: int, landing: Landing) -> Iterator[str]:
    """Why a landing is not as planned, if so."""
    board, move = stage.board, landing.move
    template = board.template(move.pod)
    accepts = board.accepts if landing.natural else board.accepts_pinned
    if not accepts(template, move.target):
        yield f"wave {number}: {_name(stage, landing)} has no place on its target"
    elif landing.natural and board.first_choice(template) != move.target:
        yield f"wave {number}: {_name(stage, landing)} would land elsewhere"


def _name(stage: Stage, landing: Landing) -> str:
    return stage.problem.pods[landing.move.pod].key
