"""What is free on a node, tried out in plain numbers."""

from __future__ import annotations

from collections.abc import Iterable

from planner.state.state import State


class FreeRoom:
    """What is free on a node for one pod, as plain numbers, while others are taken off and put back."""

    def __init__(self, state: State, wanted: list[tuple[int, int]], node: int) -> None:
        self._problem = state.problem
        free = (self._problem.allocatable[:, node] - state.used[:, node]).tolist()
        self._spare = [(row, free[row] - amount) for row, amount in wanted]

    @property
    def spare(self) -> tuple[tuple[int, int], ...]:
        """What would be left of every resource with the pod there; negative where it is short."""
        return tuple(self._spare)

    def without(self, others: Iterable[int]) -> None:
        """Take these pods off."""
        for other in others:
            held = self._amounts(other)
            self._spare = [(row, spare + held[row]) for row, spare in self._spare]

    def take_back(self, other: int) -> bool:
        """Put a pod back if there is room for it beside the one that is to come."""
        held = self._amounts(other)
        left = [(row, spare - held[row]) for row, spare in self._spare]
        if any(spare < 0 for _, spare in left):
            return False
        self._spare = left
        return True

    def _amounts(self, pod: int) -> tuple[int, ...]:
        return self._problem.template(pod).amounts
