"""What evictions may lead to: no hard spread constraint has more too much at the end than at the start."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from planner.batch.pending import Pending
from planner.batch.steps import Action
from planner.moves.constraint_counts import ConstraintCounts, TrackedConstraint, excesses, worse
from planner.state.state import State


class HardExcessLimit:
    """Compares what a plan leads to with the snapshot; a plan without evictions may end as it likes.

    `pending.state` is without the pods that may be evicted, and is left so.
    """

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    @cached_property
    def _hard(self) -> Sequence[TrackedConstraint]:
        return ConstraintCounts(self._pending.problem, self._pending.state).hard

    @cached_property
    def _before(self) -> Sequence[int]:
        problem = self._pending.problem
        return excesses(ConstraintCounts(problem, State(problem)).hard)

    def allows(self, actions: Sequence[Action]) -> bool:
        """Whether a plan may end as it does."""
        gone = {action.pod for action in actions if action.node is None}
        if not gone:
            return True
        state = self._pending.state
        mark = state.mark()
        self._pending.bind_where_they_run(gone)
        for action in actions:
            if action.node is not None:
                state.bind(action.pod, action.node)
        fine = self.is_no_worse()
        state.rollback(mark)
        return fine

    def is_no_worse(self) -> bool:
        """Whether the state as it is now has no more too much anywhere than the snapshot."""
        return not worse(self._before, self._hard)
