"""Kept properties are forgotten by name of the property, and nothing else can be named."""

from functools import cached_property

import pytest

from planner.problem.derived import forget


class Counter:
    """Counts how often it has been asked to work something out."""

    def __init__(self) -> None:
        self.calls = 0

    @cached_property
    def answer(self) -> int:
        """How many times this was worked out."""
        self.calls += 1
        return self.calls


def test_a_forgotten_property_is_worked_out_again() -> None:
    """Kept until it is forgotten; forgetting what was never asked for changes nothing."""
    counter = Counter()
    forget(counter, Counter.answer)
    assert (counter.answer, counter.answer) == (1, 1)
    forget(counter, Counter.answer)
    assert counter.answer == 2


def test_only_kept_properties_can_be_forgotten() -> None:
    """A method or a string is refused, not passed over."""
    with pytest.raises(TypeError, match="not a cached property"):
        forget(Counter(), "answer")
