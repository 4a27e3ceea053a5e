"""The fewest moves that could mend one constraint, from its counts alone.

With a global minimum of m every pod above m + maxSkew in its domain has to go, and every domain below
m has to get what it lacks; one move does at most one of each.
"""

from __future__ import annotations

import numpy as np

from planner.problem.nodes import Ints


def moves_needed(
    counts: Ints, max_skew: int, *, few_domains: bool = False, closed: bool = True
) -> int | None:
    """The fewest moves between these domains until none has too much; None when no moves can do it.

    With too few domains the global minimum is 0 whatever they hold.  Unless `closed`, pods may also
    leave for nodes that are in no domain.
    """
    if not counts.size:
        return 0
    if few_domains:
        over = int(np.maximum(counts - max_skew, 0).sum())
        room = int(np.maximum(max_skew - counts, 0).sum())
        return over if room >= over or not closed else None
    best: int | None = None
    for minimum in range(int(counts.sum()) // counts.size, -1, -1):
        over = int(np.maximum(counts - minimum - max_skew, 0).sum())
        under = int(np.maximum(minimum - counts, 0).sum())
        room = int(np.maximum(minimum + max_skew - counts, 0).sum())
        if (room >= over or not closed) and (best is None or max(over, under) < best):
            best = max(over, under)
        if best is not None and over >= best:
            break
    return best
