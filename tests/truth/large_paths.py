"""The paths of large clusters on tiny ones: with lower thresholds engines run that are used above a size."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from planner.proof import effort

#: Sets of thresholds that lead past the engines of small clusters, by the engine that is left.
PATHS: Mapping[str, Mapping[str, int]] = {
    "no sequences": {"SEQUENCE_PODS": 0, "SEQUENCES_AT_ONCE": 0},
    "cells": {
        "SEQUENCE_PODS": 0,
        "SEQUENCES_AT_ONCE": 0,
        "TINY_PAIRS": 0,
        "SMALL_PAIRS": 0,
        "LEAST_ALIKE": 1,
    },
    "coarse cells": {
        "SEQUENCE_PODS": 0,
        "SEQUENCES_AT_ONCE": 0,
        "TINY_PAIRS": 0,
        "SMALL_PAIRS": 0,
        "CELL_PAIRS": 1,
        "RELAXED_PAIRS": 1,
    },
    "no packings": {"SEQUENCES_AT_ONCE": 0, "SEQUENCE_PODS": 0, "PACKED_PLACES": 0, "ONE_BY_ONE_TRIPLES": 0},
    "regions": {"EXHAUSTED_PODS": 0},
    "chains": {"EXHAUSTED_PODS": 0, "REGION_VARIABLES": 0},
    "scarce waves": {"EXHAUSTED_PODS": 0, "PLANNED_ONCE": 0, "SINGLE_FILE": 0},
    "large repair": {"EXHAUSTED_PODS": 0, "REGION_VARIABLES": 0, "PLANNED_ONCE": 0, "SINGLE_FILE": 0},
    "all pinned": {"JUDGED_WITH_CARE": 0, "PLANNED_ONCE": 0, "SINGLE_FILE": 0},
}
_SOLVE = ("no sequences", "cells", "coarse cells", "no packings")
_MOVES = ("regions", "chains", "scarce waves", "large repair", "all pinned")


def path_of(seed: int, command: str) -> str:
    """The path of a case: the same for the same seed."""
    return random.Random(f"path {seed}").choice(_MOVES if command.startswith("rebalance") else _SOLVE)


@contextmanager
def lowered(path: str | None) -> Iterator[None]:
    """With the thresholds of a path, or as they are."""
    wanted = {} if path is None else PATHS[path]
    before = {name: getattr(effort, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(effort, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(effort, name, value)
