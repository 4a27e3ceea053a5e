"""Arrays over nodes that depend on load: recomputed only for the nodes whose load changed.

After a bind one node has to be looked at again, and plain numbers are twenty times faster than arrays of
one; a formula written with `divisors`, `everywhere` and their like is written once for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.problem.nodes import ALL, Ints, Mask, Where
from planner.state.state import LoadKey, State

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


#: Beyond this share of changed nodes one sweep over all is cheaper than picking them out.
_SWEEP_SHARE = 4
#: Up to so many changed nodes plain numbers, one node after the other, are cheaper than arrays.
_FEW = 3

#: So many answers for single nodes are kept: alike nodes have few loads, others none in common.
_REMEMBERED = 512

#: A formula over some nodes: new arrays for several, plain numbers for one.  It reads nothing of a node
#: but what `State.load_key` has.
Formula = Callable[[Where], Any]


class LoadArray:
    """A formula over all nodes, kept current against the state's log of changed nodes."""

    __slots__ = ("_epoch", "_formula", "_known", "_position", "_state", "_values", "version")

    def __init__(self, state: State, formula: Formula) -> None:
        self._state = state
        self._formula = formula
        self._known: dict[LoadKey, int] = {}
        self._values = self._whole()
        self._epoch, self._position = state.epoch, len(state.log)
        #: The state's version when a value last changed; equal versions mean equal values, even for
        #: another follower of the same formula.
        self.version = state.version

    def current(self) -> Ints:
        """The array now; it is live, do not keep it."""
        state = self._state
        position = len(state.log)
        if self._epoch != state.epoch:
            self._sweep()
            self._epoch = state.epoch
        elif self._position + 1 == position:
            self._update(state.log[-1])
        elif self._position < position:
            changed = set(state.log[self._position :])
            if len(changed) * _SWEEP_SHARE > len(self._values):
                self._sweep()
            elif len(changed) > _FEW:
                self._update_many(np.fromiter(changed, np.intp, len(changed)))
            else:
                for node in changed:
                    self._update(node)
        self._position = position
        return self._values

    def _update(self, node: int) -> None:
        key = self._state.load_key(node)
        value = self._known.get(key)
        if value is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            value = self._known[key] = int(self._formula(node))
        if self._values[node] != value:
            self._values[node] = value
            self.version = self._state.version

    def _update_many(self, nodes: NDArray[np.intp]) -> None:
        values = self._formula(nodes)
        if (self._values[nodes] != values).any():
            self._values[nodes] = values
            self.version = self._state.version

    def _sweep(self) -> None:
        self._values = self._whole()
        self.version = self._state.version

    def _whole(self) -> Ints:
        found = self._formula(ALL)
        if isinstance(found, np.ndarray) and found.dtype == np.int64:
            return found
        values = np.empty(self._state.problem.nodes.size, np.int64)
        values[:] = found
        return values
