"""What is free on a node, tried out in plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


class FreeRoom:
    """What is free on a node for one pod, as plain numbers, while others are taken off and put back."""

    def __init__(self, spare: Sequence[int], held: Callable[[int], Sequence[int]]) -> None:
        """`spare` is what would be left with the pod there; `held` what another pod takes of the same."""
        self._spare = spare
        self._held = held

    @property
    def spare(self) -> tuple[int, ...]:
        """What would be left of every resource with the pod there; negative where it is short."""
        return tuple(self._spare)

    def without(self, others: Iterable[int]) -> None:
        """Take these pods off."""
        for other in others:
            self._spare = [spare + held for spare, held in zip(self._spare, self._held(other), strict=True)]

    def take_back(self, other: int) -> bool:
        """Put a pod back if there is room for it beside the one that is to come."""
        left = [spare - held for spare, held in zip(self._spare, self._held(other), strict=True)]
        if min(left) < 0:
            return False
        self._spare = left
        return True
