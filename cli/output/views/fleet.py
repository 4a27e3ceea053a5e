"""A Sweep or a Fleet: a row for every answer, the worst first, or one for what many have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from cli.output.blocks import Cell, Section, Table, Tone, VerdictBlock, Words, rows_of, section
from cli.output.page import Page, counted
from planner.documents.fleet import FleetDocument, FleetRow
from planner.fleet.summary import FAILING_DRAWS

_CLUSTER = "CLUSTER"
_WELL, _FINDINGS = 0, 1
#: Below the groups so many of the rows that are not well are shown.
_MOST_WORST = 6
#: Of so many values, or rows of them, each is told.
_MOST_RUNS = 3
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class VariedRow:
    """A row, and what was varied in it by the head of a column."""

    row: FleetRow
    values: Mapping[str, str]


def sections(document: FleetDocument, page: Page) -> Iterator[Section]:
    """The answer as a person reads it."""
    yield section("", _verdict(document))
    told, varied = varied_rows(document)
    if not page.sums_up(told):
        yield section("Answers", _table(told, varied))
        return
    along = max(varied, key=lambda head: len({one.values[head] for one in told}))
    common = [head for head in varied if head != along]
    if common:
        yield section("Answers", _grouped(told, along, common))
    shown = [one for one in told if one.row.exit_code != _WELL]
    yield section("The worst", _table(shown, varied, _MOST_WORST))


def names(document: FleetDocument) -> Iterator[str]:
    """Clusters and scenarios with findings, or without an answer."""
    yield from (f"{row.cluster} {row.scenario}".rstrip() for row in document.rows if row.exit_code != _WELL)


def varied_rows(document: FleetDocument) -> tuple[list[VariedRow], list[str]]:
    """All rows by what was varied, and the heads of what differs; where nothing does, the cluster."""
    head_of = _heads(document.rows)
    told = [VariedRow(row, {_CLUSTER: row.cluster, **_values(row, head_of)}) for row in document.rows]
    heads = dict.fromkeys(head for one in told for head in one.values)
    whole = [VariedRow(one.row, {head: one.values.get(head, "") for head in heads}) for one in told]
    differ = [head for head in heads if len({one.values[head] for one in whole}) > 1]
    return whole, differ or [_CLUSTER]


def tone_of_code(code: int) -> Tone:
    """Green, yellow or red."""
    return "good" if code == _WELL else "warning" if code == _FINDINGS else "bad"


def word(row: FleetRow) -> str:
    """How it ended."""
    return {_WELL: "well", _FINDINGS: "findings"}.get(row.exit_code, "no answer")


def figure_heads(rows: Sequence[FleetRow]) -> list[str]:
    """The figures of these rows, as their documents name them; not those of which no row has a value."""
    found = (item for row in rows for item in row.summary.items())
    return list(dict.fromkeys(name for name, value in found if value is not None))


def _verdict(document: FleetDocument) -> VerdictBlock:
    totals = document.totals
    noun = "scenario" if document.kind == "Sweep" else "answer"
    drawn = sum(row.exit_code == _WELL and bool(row.summary.get(FAILING_DRAWS)) for row in document.rows)
    parts = [f"{totals.well} well{f' ({drawn} only as ties go)' if drawn else ''}"]
    if totals.findings:
        parts.append(f"{totals.findings} with findings")
    if totals.unanswered:
        parts.append(f"{totals.unanswered} without an answer")
    tone: Tone = "bad" if totals.unanswered else "warning" if totals.findings or drawn else "good"
    return VerdictBlock(f"{counted(totals.rows, noun)}: {', '.join(parts)}.", tone)


def _table(told: Sequence[VariedRow], varied: Sequence[str], most: int | None = None) -> Table:
    figures = figure_heads([one.row for one in told])
    heads = (
        *varied,
        "RESULT",
        *map(_head, figures),
        *(["ERROR"] if any(one.row.error for one in told) else []),
    )
    rows = []
    for one in told:
        cells: list[Words] = [*(one.values[head] for head in varied)]
        cells.append(Cell(word(one.row), tone_of_code(one.row.exit_code)))
        cells += [_number(one.row.summary.get(name, "")) for name in figures]
        rows.append([*cells, *([one.row.error] if "ERROR" in heads else [])])
    return Table(heads, rows_of(rows), noun="answer", most=most)


def _grouped(told: Sequence[VariedRow], along: str, common: Sequence[str]) -> Table:
    """A row for all answers that differ in one thing alone: how many are well, and which are not."""
    groups: dict[tuple[str, ...], list[VariedRow]] = {}
    for one in told:
        groups.setdefault(tuple(one.values[head] for head in common), []).append(one)
    all_well = all(one.row.exit_code == _WELL for one in told)
    heads = (*common, "WELL", "FINDINGS", "NO ANSWER", *([] if all_well else [f"NOT WELL AT {along}"]))
    rows: list[list[Words]] = []
    for values, members in sorted(groups.items(), key=lambda item: [in_order(value) for value in item[0]]):
        codes = [one.row.exit_code for one in members]
        well, findings = codes.count(_WELL), codes.count(_FINDINGS)
        left = len(codes) - well - findings
        rows.append(
            [
                *values,
                str(well),
                _count(findings, "warning"),
                _count(left, "bad"),
                *([] if all_well else [_not_well_at(members, along)]),
            ]
        )
    return Table(heads, rows_of(rows), noun="group")


def _not_well_at(members: Sequence[VariedRow], along: str) -> str:
    """The values at which answers are not well, those that follow each other as one; of many the number."""
    ordered = sorted({one.values[along] for one in members}, key=in_order)
    not_well = {one.values[along] for one in members if one.row.exit_code != _WELL}
    if len(not_well) == len(ordered):
        return "all"
    told = [*_runs(ordered, not_well)]
    return ", ".join(told) if len(told) <= _MOST_RUNS else f"{len(not_well)} of {len(ordered)}"


def _runs(ordered: Sequence[str], chosen: Collection[str]) -> Iterator[str]:
    """The chosen ones of some values: `0 to 4`, or `from 7` where all after it are; each name by itself."""
    in_a_row = all(in_order(value)[0] == 0 for value in ordered)
    for is_chosen, found in groupby(ordered, lambda value: value in chosen):
        run = [*found]
        if not is_chosen:
            continue
        if not in_a_row:
            yield from run
        elif run[-1] == ordered[-1]:
            yield f"from {run[0]}"
        else:
            yield run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}"


def _count(number: int, tone: Tone) -> Cell:
    return Cell(str(number), tone if number else "plain")


def _heads(rows: Sequence[FleetRow]) -> dict[str, str]:
    """The head of a column for all that is varied; of keys whose names are alike the whole key is there."""
    varied = dict.fromkeys(what for row in rows for what, _ in _pairs(row))
    times = Counter(_head_of(what, short=True) for what in varied)
    return {what: _head_of(what, short=times[_head_of(what, short=True)] == 1) for what in varied}


def _head_of(what: str, *, short: bool) -> str:
    kind, _, detail = what.partition("=")
    named = detail.rpartition("/")[2] if kind == "lose" and short else detail
    return " ".join(filter(None, (kind.upper(), named)))


def _values(row: FleetRow, head_of: Mapping[str, str]) -> dict[str, str]:
    return {head_of[what]: value for what, value in _pairs(row)}


def _pairs(row: FleetRow) -> Iterator[tuple[str, str]]:
    """What is varied in a row, and its value."""
    for part in row.scenario.split():
        what, _, value = part.rpartition("=")
        yield what, value


def in_order(value: str) -> tuple[int, tuple[int, ...], str]:
    """What values are sorted by: numbers and releases by their size, names after them."""
    parts = value.lstrip("v").split(".")
    numbers = tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()
    return (0, numbers, "") if numbers else (1, (), value)


def _head(name: str) -> str:
    return _WORD.sub(" ", name).upper()


def _number(value: float | str | None) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
