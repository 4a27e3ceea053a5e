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

    __slots__ = ("_at_once", "_capacity", "_kept", "_last", "_last_key", "_seen")

    def __init__(self, nodes: int, part: float = 1.0, *, at_once: bool = False) -> None:
        self._kept: OrderedDict[Hashable, V] = OrderedDict()
        self._seen: set[Hashable] = set()
        self._last_key: Hashable = self
        self._last: V | None = None
        self._at_once = at_once
        self._capacity = max(_AT_LEAST, int(_ELEMENTS / part) // max(1, nodes))

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value under a key, made when it is not there (any more)."""
        if self._last is not None and key == self._last_key:
            return self._last
        found = self._kept.get(key)
        if found is None:
            found = make()
            self._keep(key, found)
        else:
            self._kept.move_to_end(key)
        self._last_key, self._last = key, found
        return found

    def _keep(self, key: Hashable, value: V) -> None:
        if not self._at_once and key not in self._seen:
            if len(self._seen) >= _KEYS_REMEMBERED:
                self._seen.clear()
            self._seen.add(key)
            return
        self._kept[key] = value
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
