"""Of some pods the up to three that fill a room best."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.batch.packing.vectors import Floats
from planner.problem.nodes import Codes


def best_fit(
    wanted: Floats, room: Floats, weight: Floats, window: float, triples: int
) -> tuple[float, Codes, int]:
    """What stays free at best, by weight, with the pods that leave it; and how many sets were looked at.

    Of sets of three only those that leave less than the window of the first resource, about `triples`
    at most.
    """
    best, chosen, looked = float(room @ weight), np.zeros(0, np.intp), 0
    for sets in _sets(wanted, room, window, triples):
        left = room - wanted[sets].sum(axis=1)
        looked += len(sets)
        free = np.where((left >= 0).all(axis=1), left @ weight, np.inf)
        if len(free) and free.min() < best:
            best, chosen = float(free.min()), sets[int(free.argmin())]
    return best, chosen, looked


def _sets(wanted: Floats, room: Floats, window: float, triples: int) -> Iterator[Codes]:
    """All sets of one pod, all of two, and some of three: a row for each."""
    pods = np.arange(len(wanted))
    yield pods[:, np.newaxis]
    pairs = np.stack(np.triu_indices(len(wanted), 1), axis=1)
    yield pairs
    first = wanted[pairs, 0].sum(axis=1)
    order = np.argsort(first, kind="stable")
    first = first[order]
    wide = room[0] - wanted[:, 0]
    start, end = np.searchsorted(first, wide - window), np.searchsorted(first, wide, side="right")
    numbers = end - start
    # Too many: every so many of them, at the full end.
    share = max(1, -(-int(numbers.sum()) // triples))
    numbers = numbers // share
    third = np.repeat(pods, numbers)
    rank = np.arange(len(third)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    pair = pairs[order[end[third] - 1 - rank]]
    once = pair[:, 1] < third
    yield np.column_stack([pair[once], third[once]])
