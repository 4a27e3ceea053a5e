"""The table of a sweep: its columns, and what a row for many answers says."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import pytest

from cli.output.blocks import Table, text_of
from cli.output.page import Page
from cli.output.views.fleet import figure_heads, sections
from planner.documents.fleet import FleetRow, FleetTotals, Sweep
from tests.builders import ZONE
from tests.cli.conftest import Planner

pytestmark = pytest.mark.usefixtures("_workers_are_threads")


def first_table(scenarios: Sequence[str], failing: Collection[str] = ()) -> Table:
    """The table of answers to these scenarios, some of them with findings."""
    rows = [FleetRow(cluster="c", scenario=s, exit_code=int(s in failing), summary={}) for s in scenarios]
    totals = FleetTotals(rows=len(rows), well=len(rows) - len(failing), findings=len(failing), unanswered=0)
    document = Sweep(command="planner simulate", rows=tuple(rows), totals=totals)
    blocks = [block for part in sections(document, Page.of(None, False)) for block in part.blocks]
    return next(block for block in blocks if isinstance(block, Table))


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([0, 1], "0 to 1"),
        ([5], "5"),
        ([3, 9, 10, 29, 30], "3, 9 to 10, from 29"),
        ([*range(12, 31)], "from 12"),
        ([*range(31)], "all"),
        ([1, 3, 5, 7], "4 of 31"),
    ],
)
def test_values_that_are_not_well_are_told(numbers: Sequence[int], told: str) -> None:
    """What went wrong: `not well from 0` where 0 and 1 alone were not."""
    several = [f"add-nodes=n0={number} kubernetes={v}" for number in range(31) for v in ("1.35", "1.36")]
    failing = {f"add-nodes=n0={number} kubernetes=1.36" for number in numbers}
    found = first_table(several, failing)
    assert found.heads[-1] == "NOT WELL AT ADD-NODES n0"
    assert [text_of(row[-1]) for row in found.rows] == ["", told]


def test_names_are_not_told_as_rows_of_values() -> None:
    """Node b comes behind a, and that means nothing."""
    several = [f"drain={node} kubernetes={v}" for node in "abcdefghijklmnopqrstuvwxyz" for v in ("1", "2")]
    found = first_table(several, {f"drain={node} kubernetes=1" for node in "yz"})
    assert [text_of(row[-1]) for row in found.rows] == ["y, z", ""]


def test_keys_that_end_alike_have_a_column_each() -> None:
    """What went wrong: the zones of two keys were one column, in which one of them was lost."""
    zone, own, rack = "topology.kubernetes.io/zone", "example.com/zone", "example.com/rack"
    found = first_table([f"lose={zone}={a} lose={own}={b} lose={rack}=r{b}" for a in "ab" for b in "xy"])
    assert found.heads[:3] == (f"LOSE {zone}", f"LOSE {own}", "LOSE rack")
    assert [text_of(cell) for cell in found.rows[1][:3]] == ["a", "y", "ry"]


def test_a_figure_without_a_value_in_any_row_has_no_column() -> None:
    """What went wrong: `AUTOSCALERS PENDING` stood above nothing but dashes."""
    summaries = ({"pending": None, "more": None}, {"pending": None, "more": 3})
    rows = [FleetRow(cluster="c", scenario="", exit_code=0, summary=summary) for summary in summaries]
    assert figure_heads(rows) == ["more"]


def test_one_way_of_ties_is_said_to_be_one(planner: Planner, zones: str) -> None:
    """What went wrong: with --seed, too, ties were said to go to the smallest name."""
    words = ("sweep", "simulate", "-f", zones, "--vary", f"lose={ZONE}", "--jobs", "1", "-o", "json")
    for seed in ((), ("--seed", "3")):
        (note,) = json.loads(planner(*words, *seed).out)["notes"]
        assert note.startswith("every scenario is simulated with one order of ties")
    assert json.loads(planner(*words[:1], "check", *words[2:]).out)["notes"] == []
