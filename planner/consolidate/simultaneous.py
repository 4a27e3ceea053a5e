"""How many moves of pods that one constraint counts may be under way at once, whichever ends first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import repeat

from models.errors import InternalError
from planner.consolidate.possible_counts import CountedMove, PossibleCounts


def simultaneous(
    start: PossibleCounts,
    moves: Sequence[CountedMove],
    most: int,
    roomy: Mapping[int, Collection[int]],
) -> Iterator[int]:
    """For each of some moves in a row the number of its set; at most `most` are in one.

    From what is counted at the start the moves hold one after the other.  Those of a set lead to the same
    counts whatever is under way with them, and each pod is admitted to a domain that is `roomy` for its
    template.
    """
    first, number, before = 0, 0, start
    while first < len(moves):
        one_by_one = [*_after_each(before, moves[first : first + most])]
        size = len(one_by_one)
        while size > 1 and not _holds(before, moves[first : first + size], one_by_one[size - 1], roomy):
            size //= 2
        yield from repeat(number, size)
        first, number, before = first + size, number + 1, one_by_one[size - 1]


def _after_each(before: PossibleCounts, moves: Sequence[CountedMove]) -> Iterator[PossibleCounts]:
    for move in moves:
        after = before.after(move)
        if after is None:
            raise InternalError("a move no longer holds that held before")
        yield after
        before = after


def _holds(
    before: PossibleCounts,
    moves: Sequence[CountedMove],
    after: PossibleCounts,
    roomy: Mapping[int, Collection[int]],
) -> bool:
    """Whether moves under way at once lead to nothing that they do not lead to one after the other."""
    found = before.outcomes(moves)
    return (
        found is not None
        and found.ends <= after.reached
        and all(
            not domains.isdisjoint(roomy[template])
            for template, several in found.admitted.items()
            for domains in several
        )
    )
