"""What several tests of `solve` draw."""

import pytest

from tests import seeds


@pytest.fixture
def number(turn: int) -> int:
    """The seed of a cluster that no run has seen before, another one every turn."""
    return seeds.fresh() + turn
