"""A cache of arrays over nodes that cannot outgrow the machine.

What is asked for once may never be asked for again: unless it is known to be, a value is kept from its second
making on, so a batch in which every pod is different does not fill the memory with arrays that are not read
again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")

#: How many array elements a cache may hold before it drops what was used longest ago.
_ELEMENTS = 8_000_000
_AT_LEAST = 64
_KEYS_REMEMBERED = 100_000


class ArrayCache(Generic[V]):
    """Values by key, the least recently used dropped first; sized for values as long as the node axis.

    `part` says what part of an array of whole numbers a value is: a mask is an eighth.  `at_once` keeps
    values from their first making on, as they are always asked for again.
    """

    __slots__ = ("_at_once", "_kept", "_last", "_last_key", "_nodes", "_part", "_seen")

    def __init__(self, nodes: int, part: float = 1.0, *, at_once: bool = False) -> None:
        # Every state and every plugin has some, most of which are never asked: nothing is made before.
        self._kept: OrderedDict[Hashable, V] | None = None
        self._seen: set[Hashable] | None = None
        self._last_key: Hashable = self
        self._last: V | None = None
        self._at_once = at_once
        self._nodes = nodes
        self._part = part

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value under a key, made when it is not there (any more)."""
        if self._last is not None and key == self._last_key:
            return self._last
        kept = self._kept
        found = None if kept is None else kept.get(key)
        if kept is None or found is None:
            found = make()
            if self._at_once or self._was_seen(key):
                self._keep(key, found)
        else:
            kept.move_to_end(key)
        self._last_key, self._last = key, found
        return found

    def _was_seen(self, key: Hashable) -> bool:
        """Whether a key was asked for before; from now on it was."""
        seen = self._seen
        if seen is None:
            seen = self._seen = set()
        if key in seen:
            return True
        if len(seen) >= _KEYS_REMEMBERED:
            seen.clear()
        seen.add(key)
        return False

    def _keep(self, key: Hashable, value: V) -> None:
        if self._kept is None:
            self._kept = OrderedDict()
        self._kept[key] = value
        if len(self._kept) > max(_AT_LEAST, int(_ELEMENTS / self._part) // max(1, self._nodes)):
            self._kept.popitem(last=False)
