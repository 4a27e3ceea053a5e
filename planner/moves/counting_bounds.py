"""A lower bound on the moves that repair one constraint, from its counts alone.

With a global minimum of m every pod above m + maxSkew in its domain has to go, unless all pods with the
constraint leave the domain: where no pod carries the constraint it is not violated.  And every domain below
m has to receive what it lacks.  One move does at most one of each.
"""

from __future__ import annotations

import numpy as np

from planner.problem.nodes import Ints


def moves_needed(  # noqa: PLR0913 - what a constraint's counts depend on
    counts: Ints,
    max_skew: int,
    *,
    held: Ints | None = None,
    few_domains: bool = False,
    closed: bool = True,
    outside: int = 0,
) -> int | None:
    """The fewest moves between these domains until none has too many pods; None when no moves can do it.

    `held` has the pods with the constraint in every domain; without it every counted pod has it.  With too
    few domains the global minimum is 0 whatever they hold.  Unless `closed`, pods may also move to nodes
    that are in no domain; `outside` is the number of matching pods that are there now and may come in.
    """
    if not counts.size:
        return 0
    carried = counts if held is None else held
    anywhere = not closed or bool((carried < counts).any())
    top = 0 if few_domains else (int(counts.sum()) + outside) // counts.size
    found = _fewest(counts, max_skew, carried, top, anywhere=anywhere)
    return None if found is None else found[0]


def best_minimum(counts: Ints, max_skew: int, *, few_domains: bool) -> tuple[int, int] | None:
    """The fewest moves when every counted pod has the constraint, and the global minimum they reach."""
    top = 0 if few_domains else int(counts.sum()) // counts.size
    return _fewest(counts, max_skew, counts, top, anywhere=False)


def _fewest(
    counts: Ints, max_skew: int, carried: Ints, top: int, *, anywhere: bool
) -> tuple[int, int] | None:
    """The fewest moves and the global minimum they reach, at most `top`."""
    best: tuple[int, int] | None = None
    for minimum in range(top, -1, -1):
        over = int(np.minimum(np.maximum(counts - minimum - max_skew, 0), carried).sum())
        under = int(np.maximum(minimum - counts, 0).sum())
        room = int(np.maximum(minimum + max_skew - counts, 0).sum())
        if (room >= over or anywhere) and (best is None or max(over, under) < best[0]):
            best = max(over, under), minimum
        if best is not None and over >= best[0]:
            break
    return best
