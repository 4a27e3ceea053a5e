"""The one cluster that a worker holds, as it was read and after each change to it.

What was read and changed for the last question is there for the next, as far as both begin alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from models import Cluster

#: By the number of changes: the name of a state and the cluster. Those after it are made from those before.
_HELD: list[tuple[Hashable, Cluster]] = []


def held(changes: int, key: Hashable, make: Callable[[], Cluster]) -> Cluster:
    """The cluster of this name after so many changes, made now unless it is the one held.

    What the name does not fit is dropped before, and all that was made from it.
    """
    if changes >= len(_HELD) or _HELD[changes][0] != key:
        del _HELD[changes:]
        found = make()
        if len(_HELD) == changes:
            _HELD.append((key, found))
        return found
    return _HELD[changes][1]
