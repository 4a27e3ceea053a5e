"""What several tests of `solve` draw."""

from random import SystemRandom

import pytest


@pytest.fixture
def number(turn: int) -> int:
    """A cluster that no run has seen before, another one every turn; it is told where a test fails."""
    found = SystemRandom().randrange(1 << 30)
    print(f"turn {turn}: {found}")
    return found
