"""The measuring of solve: numbers that belong together, from a process of its own."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from batches import BatchSize, objects
from measure_solve import HEADS, SolveMeasurement, measure_solve, measure_solve_apart, medians
from shapes import Manifest, listing

TINY = BatchSize(18, 36, 4)


@pytest.fixture(scope="module")
def measured() -> SolveMeasurement:
    """A tiny batch, measured as the command does it."""
    return measure_solve_apart(objects(TINY, 0.9, True), time_limit=5)


@pytest.mark.long
def test_what_is_measured_belongs_together(measured: SolveMeasurement) -> None:
    """Nothing exceeds its bound, proved means it is reached, the first plan is there before the last."""
    assert (measured.nodes, measured.pending, measured.templates) == (18, 36, 4)
    assert measured.reference_placed <= measured.placed <= measured.bound <= measured.pending
    assert measured.proved == (measured.placed == measured.bound)
    assert measured.first_plan <= measured.wall
    assert len(measured.cells()) == len(HEADS)


@pytest.mark.long
def test_medians_are_numbers_that_were_seen(measured: SolveMeasurement) -> None:
    """Each number is the lower middle one of its own; proved is what every run proved."""
    runs = [replace(measured, wall=wall, placed=30 - int(wall), proved=wall < 4) for wall in (4.0, 1.0, 2.0)]
    middle = medians(runs)
    assert (middle.wall, middle.placed, middle.proved) == (2.0, 28, False)
    assert medians(runs[1:]).proved
    assert medians([replace(measured, soft_spread=None)]).soft_spread is None


def soft_spread(batch: list[Manifest], folder: Path) -> int | None:
    """What a measurement in this process tells of ScheduleAnyway constraints."""
    snapshot = folder / "snapshot.json"
    snapshot.write_text(json.dumps(listing(batch)))
    return measure_solve(snapshot, time_limit=5).soft_spread


def test_soft_spread_is_told_where_there_is_any(tmp_path: Path) -> None:
    """A batch with ScheduleAnyway constraints has the stage; once they are gone it has not."""
    batch = objects(TINY, 0.9, False)
    assert soft_spread(batch, tmp_path) is not None
    for item in batch:
        item["spec"].pop("topologySpreadConstraints", None)
    assert soft_spread(batch, tmp_path) is None
