"""Which pods one constraint makes Descheduler evict.

Domains are taken in order of size, the smallest against the largest.  While they differ by more than
maxSkew, the larger gives the smaller as many pods as bring them within maxSkew, but no more than bring
either past the average.  Where the pods will really go is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence


def is_balanced(sizes: Collection[int], max_skew: int) -> bool:
    """Whether no two domains differ by more than maxSkew."""
    return not sizes or max(sizes) - min(sizes) <= max_skew


def given(domains: Sequence[list[int]], max_skew: int, fits: Callable[[int], bool]) -> Iterator[int]:
    """The pods that domains give, which fit elsewhere or not; domains ascend by size, and are changed.

    Pods at the end of a domain go first, those that fit elsewhere before the others.
    """
    average = sum(map(len, domains)) / len(domains)
    low, high = 0, len(domains) - 1
    while low < high:
        if len(domains[high]) <= average:
            high -= 1
        many = _many(len(domains[low]), len(domains[high]), average, max_skew)
        if many <= 0:
            low += 1
            continue
        domains[high].sort(key=fits)
        going = domains[high][-many:]
        yield from going
        del domains[high][-many:]
        domains[low] += going


def _many(low: int, high: int, average: float, max_skew: int) -> int:
    """How many pods a domain with many gives to one with few; none where that is not positive."""
    return min(math.ceil(high - average), math.ceil(average - low), math.ceil((high - low - max_skew) / 2))
