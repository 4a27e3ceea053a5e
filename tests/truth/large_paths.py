"""The paths of large clusters on tiny ones: with lower thresholds engines run that are used above a size."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType

from planner.proof import consolidation_effort, move_effort
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
#: Constants that `consolidate` is run with, by the bound or the search that is left.
CONSOLIDATION_PATHS: Mapping[str, Mapping[str, int]] = {
    "regions of nodes": {"KEPT_AT_ONCE": 0},
    "linear bound": {"KEPT_AT_ONCE": 0, "LINEAR_BOUND": 0},
    "room alone": {"KEPT_AT_ONCE": 0, "BOUND_OF_COST_PAIRS": -1},
    "many nodes at once": {"KEPT_AT_ONCE": 0, "LINEAR_BOUND": 0, "REMOVALS_AT_MOST": 0, "BULK_FIRST": 0},
    "landings anywhere": {"EMPTYING_CORDONED": 1},
}


def path_of(seed: int, command: str) -> str:
    """The path of a case: the same for the same seed."""
    others = {"rebalance": [*PATHS], "consolidate": [*CONSOLIDATION_PATHS]}
    return random.Random(f"path {seed}").choice(others.get(command, [*SOLVE_PATHS]))


def effort_of(path: str | None) -> Effort:
    """What `solve` is given on a path."""
    return STANDARD if path is None else SOLVE_PATHS.get(path, STANDARD)


@contextmanager
def lowered(path: str | None) -> Iterator[None]:
    """With the constants of a path, or as they are."""
    moves, nodes = ({}, {}) if path is None else (PATHS.get(path, {}), CONSOLIDATION_PATHS.get(path, {}))
    with _set(move_effort, moves), _set(consolidation_effort, nodes):
        yield


@contextmanager
def _set(effort: ModuleType, wanted: Mapping[str, int]) -> Iterator[None]:
    before = {name: getattr(effort, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(effort, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(effort, name, value)
