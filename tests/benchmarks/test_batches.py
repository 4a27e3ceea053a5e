"""Generated batches: the same for the same seed, and nothing that runs breaks a rule."""

import pytest
from batch_templates import Mix
from batches import BatchSize, batch, objects

from planner import check

SMALL = BatchSize(60, 240, 20)
MIX = Mix(anti_affinity=0.2, min_domains=0.5, priorities=(0, 10))


def test_the_same_seed_makes_the_same_batch() -> None:
    """A seed stands for one batch, another seed for another."""
    assert objects(SMALL, 0.9, True, 7, MIX) == objects(SMALL, 0.9, True, 7, MIX)
    assert objects(SMALL, 0.9, True, 7, MIX) != objects(SMALL, 0.9, True, 8, MIX)


@pytest.mark.parametrize("seed", range(3))
def test_what_runs_is_legal(seed: int) -> None:
    """No running pod of a lived-in batch violates a constraint."""
    assert check(batch(SMALL, 0.9, True, seed, MIX)).violations == 0
