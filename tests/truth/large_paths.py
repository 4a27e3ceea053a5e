"""The paths of large clusters on tiny ones: with lower thresholds engines run that are used above a size."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from planner.proof import move_effort as effort
from planner.proof.effort import STANDARD, CellEffort, Effort

_NO_SEQUENCES = replace(STANDARD, sequences=replace(STANDARD.sequences, pods=0, at_once=0))


def _cells(cells: CellEffort, relaxed_pairs: int) -> Effort:
    """Neither sequences nor a model of all nodes."""
    return replace(
        _NO_SEQUENCES,
        exact=replace(STANDARD.exact, tiny_pairs=0, small_pairs=0),
        cells=cells,
        evictions=replace(STANDARD.evictions, relaxed_pairs=relaxed_pairs),
    )


#: What `solve` is given, by the engine that is left.
SOLVE_PATHS: Mapping[str, Effort] = {
    "no sequences": _NO_SEQUENCES,
    "cells": _cells(replace(STANDARD.cells, least_alike=1), STANDARD.evictions.relaxed_pairs),
    "coarse cells": _cells(replace(STANDARD.cells, pairs=1), 1),
    "no packings": replace(
        _NO_SEQUENCES,
        exact=replace(STANDARD.exact, one_by_one_triples=0),
        evictions=replace(STANDARD.evictions, packed_places=0),
    ),
}
#: Constants that `rebalance` is run with, by the engine that is left.
PATHS: Mapping[str, Mapping[str, int]] = {
    "regions": {"EXHAUSTED_PODS": 0},
    "chains": {"EXHAUSTED_PODS": 0, "REGION_VARIABLES": 0},
    "scarce waves": {"EXHAUSTED_PODS": 0, "PLANNED_ONCE": 0, "ONE_MOVE_A_WAVE_MOST": 0},
    "large repair": {
        "EXHAUSTED_PODS": 0,
        "REGION_VARIABLES": 0,
        "PLANNED_ONCE": 0,
        "ONE_MOVE_A_WAVE_MOST": 0,
    },
    "without scores": {"SCORED": 0, "PLANNED_ONCE": 0, "ONE_MOVE_A_WAVE_MOST": 0},
}


def path_of(seed: int, command: str) -> str:
    """The path of a case: the same for the same seed."""
    paths = [*PATHS] if command.startswith("rebalance") else [*SOLVE_PATHS]
    return random.Random(f"path {seed}").choice(paths)


def effort_of(path: str | None) -> Effort:
    """What `solve` is given on a path."""
    return STANDARD if path is None else SOLVE_PATHS.get(path, STANDARD)


@contextmanager
def lowered(path: str | None) -> Iterator[None]:
    """With the constants of a path, or as they are."""
    wanted = {} if path is None else PATHS.get(path, {})
    before = {name: getattr(effort, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(effort, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(effort, name, value)
