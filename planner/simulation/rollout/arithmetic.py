"""The numbers of a Deployment's rolling update, as its controller computes them.

maxSurge is rounded up and maxUnavailable down; where both come to 0 one pod may be unavailable, or
nothing would ever move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.objects.share import Share, pods_of_share
from models.objects.workload import UpdateStrategy

_DEFAULT_SHARE = "25%"


@dataclass(frozen=True, slots=True)
class Margins:
    """How many pods more than wanted there may be, and how many of them may be unavailable."""

    surge: int
    unavailable: int

    @classmethod
    def of(cls, strategy: UpdateStrategy, replicas: int) -> Margins:
        """What a strategy means for so many replicas."""
        rolling = strategy.rolling_update
        surge = pods_of_share(_or_default(rolling.max_surge), replicas, round_up=True)
        unavailable = pods_of_share(_or_default(rolling.max_unavailable), replicas, round_up=False)
        if surge == 0 and unavailable == 0:
            unavailable = 1
        return cls(surge, min(unavailable, replicas))


def _or_default(share: Share | None) -> Share:
    return _DEFAULT_SHARE if share is None else share


@dataclass(frozen=True, slots=True)
class Size:
    """What a ReplicaSet is asked for, and what it has."""

    replicas: int
    available: int


def new_size(wanted: int, margins: Margins, new: int, total: int) -> int:
    """The size of the new ReplicaSet: as far up as all of them together may go."""
    most = wanted + margins.surge
    return new if total >= most else min(new + most - total, max(new, wanted))


def old_sizes(wanted: int, margins: Margins, new: Size, old: Sequence[Size]) -> list[int]:
    """The sizes of the old ReplicaSets, oldest first: unavailable pods go first, then as many as may.

    While a status still counts more available pods than its ReplicaSet is asked for, the controller refuses
    the "invalid request to scale down" and takes nothing more in that sync.
    """
    total = new.replicas + sum(size.replicas for size in old)
    least = wanted - margins.unavailable
    going = total - least - (new.replicas - new.available)
    kept = [size.replicas for size in old]
    if going <= 0:
        return kept
    for place, size in enumerate(old):
        if going == 0:
            break
        unhealthy = min(going, size.replicas - size.available) if size.replicas else 0
        if unhealthy < 0:
            return kept
        kept[place] -= unhealthy
        going -= unhealthy
    going = new.available + sum(size.available for size in old) - least
    for place, replicas in enumerate(kept):
        fewer = min(max(0, going), replicas)
        kept[place] -= fewer
        going -= fewer
    return kept


def rolled(wanted: int, margins: Margins, new: Size | None, old: Sequence[Size]) -> tuple[int, Sequence[int]]:
    """The sizes of the new ReplicaSet and of the old ones after one sync of a rolling update.

    `new` is None before it is made.  A new ReplicaSet is made in its first size, and old ones are looked
    at in the same sync; one that is there is sized alone.
    """
    there = new or Size(0, 0)
    if there.replicas > wanted:
        size = wanted
    else:
        size = new_size(wanted, margins, there.replicas, there.replicas + sum(item.replicas for item in old))
    if new is not None and size != new.replicas:
        return size, [item.replicas for item in old]
    return size, old_sizes(wanted, margins, Size(size, there.available), old)


def shares(wanted: int, surge: int, sizes: Sequence[int], known: Sequence[int | None]) -> list[int]:
    """The sizes of several active ReplicaSets after the Deployment was scaled: in proportion.

    `sizes` come in the order in which the controller distributes: largest first. `known` is what each was
    made for: the most pods that its Deployment could have had then, as its annotation says.
    """
    most = wanted + surge if wanted else 0
    left = most - sum(sizes)
    found = list(sizes)
    for place, size in enumerate(sizes):
        if left == 0 or not size:
            continue
        fair = _rounded(size * most, known[place] or wanted) - size if wanted else -size
        part = min(fair, left) if left > 0 else max(fair, left)
        found[place] += part
        left -= part
    found[0] = max(0, found[0] + left)
    return found


def _rounded(number: int, by: int) -> int:
    """Divided, and rounded to the nearest whole number, half a pod up."""
    return (2 * number + by) // (2 * by)
