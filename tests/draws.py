"""Answers of one way of ties alone: draws of others take most of the time of commands on small clusters."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from planner.scheduler import other_ties
from tests.seeds import EFFORT


@contextmanager
def nothing_drawn() -> Iterator[None]:
    """For random tests, also as a decorator, that look at nothing of draws; a long run makes them too."""
    with pytest.MonkeyPatch.context() as patch:
        if EFFORT == 1:
            patch.setattr(other_ties, "seeds", lambda *_: ())
        yield
