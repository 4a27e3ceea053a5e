"""Arithmetic that reads the same for an array of nodes and for the plain numbers of one node.

After a bind one node has to be looked at again, and plain numbers are twenty times faster than
arrays of one; a formula written with these is written once for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.problem.nodes import Ints, Mask, Where

#: Up to this divisor a quotient of at most 100 is exact when taken by way of floats.
_EXACT_BY_FLOAT = 1 << 46


def divisors(table: Ints) -> NDArray[Any]:
    """The table to divide by, 1 where it is 0: as floats, ten times faster, unless that would round."""
    whole = np.maximum(table, 1)
    return whole.astype(np.float64) if whole.max(initial=0) <= _EXACT_BY_FLOAT else whole


def everywhere(table: Ints) -> list[bool]:
    """Which rows have no 0."""
    found: Mask = np.logical_and.reduce(table > 0, axis=1)
    rows: list[bool] = found.tolist()
    return rows


def at(table: NDArray[Any], row: int, where: Where) -> Any:
    """A row of a table at some nodes, or as a plain number at one."""
    return table.item(row, where) if isinstance(where, int) else table[row, where]


def of_node(values: Ints, where: Where) -> Any:
    """Values of some nodes, or a plain number for one."""
    return values.item(where) if isinstance(where, int) else values[where]


def any_of(truth: Any) -> bool:
    return truth if isinstance(truth, bool) else bool(truth.any())


def quotient(amount: Any, divisor: Any) -> Any:
    """amount / divisor, at most 100, without the fraction."""
    if isinstance(amount, int):
        return int(amount / divisor) if isinstance(divisor, float) else amount // divisor
    share = amount / divisor if divisor.dtype == np.float64 else amount // divisor
    return share.astype(np.int64)


def at_least_0(amount: Any) -> Any:
    """The amount, or 0 where it is negative."""
    return max(amount, 0) if isinstance(amount, int) else np.maximum(amount, 0)


def no_more_than(amount: Any, limit: Any) -> Any:
    return min(amount, limit) if isinstance(amount, int) else np.minimum(amount, limit)


def positive(amount: Any) -> Any:
    """The amount, or 1 where it is 0."""
    return max(amount, 1) if isinstance(amount, int) else np.maximum(amount, 1)
