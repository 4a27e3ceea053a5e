"""What several tests of `solve` draw."""

from random import SystemRandom

import pytest


@pytest.fixture
def number(turn: int) -> int:
    """A cluster that no run has seen before, another one every turn; pytest tells it where a test fails."""
    print(f"turn {turn}")
    return SystemRandom().randrange(1 << 30)
