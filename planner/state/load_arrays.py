"""Arrays over nodes that depend on load: recomputed only for the nodes whose load changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.problem.nodes import ALL, Ints, Where
from planner.state.state import LoadKey, State

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
