"""Fresh seeds on every run; TRUTH_SEED=number repeats one."""

import os
import random


def fresh() -> int:
    """A seed that nobody has seen, printed so that a failure can be repeated."""
    text = os.environ.get("TRUTH_SEED")
    seed = int(text) if text else random.SystemRandom().randrange(1 << 40)
    print(f"TRUTH_SEED={seed}")
    return seed
