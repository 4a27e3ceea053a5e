"""A Sweep or a Fleet: a row for every answer, the worst first, or one for what many have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cli.output.blocks import Cell, Section, Table, Tone, VerdictBlock, Words, rows_of, section
from cli.output.page import MANY_ROWS, Page, counted
from planner.documents.fleet import FleetDocument, FleetRow

_CLUSTER = "CLUSTER"
_WELL, _FINDINGS = 0, 1
#: Below the groups so many of the rows that are not well are shown.
_MOST_WORST = 6
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
    if len(told) <= MANY_ROWS or page.all_rows:
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
    told = [VariedRow(row, {_CLUSTER: row.cluster, **_values(row.scenario)}) for row in document.rows]
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
    """The figures of these rows, as their documents name them."""
    return list(dict.fromkeys(name for row in rows for name in row.summary))


def _verdict(document: FleetDocument) -> VerdictBlock:
    totals = document.totals
    noun = "scenario" if document.kind == "Sweep" else "answer"
    parts = [f"{totals.well} well"]
    if totals.findings:
        parts.append(f"{totals.findings} with findings")
    if totals.unanswered:
        parts.append(f"{totals.unanswered} without an answer")
    tone: Tone = "bad" if totals.unanswered else "warning" if totals.findings else "good"
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
    return Table(heads, rows_of(rows), noun="answer", most=most, source="rows")


def _grouped(told: Sequence[VariedRow], along: str, common: Sequence[str]) -> Table:
    """A row for all answers that differ in one thing alone: how many are well, and from where on not."""
    groups: dict[tuple[str, ...], list[VariedRow]] = {}
    for one in told:
        groups.setdefault(tuple(one.values[head] for head in common), []).append(one)
    all_well = all(one.row.exit_code == _WELL for one in told)
    heads = (*common, "WELL", "FINDINGS", "NO ANSWER", *([] if all_well else [f"NOT WELL FROM {along}"]))
    rows: list[list[Words]] = []
    for values, members in sorted(groups.items(), key=lambda item: [in_order(value) for value in item[0]]):
        codes = [one.row.exit_code for one in members]
        not_well = [one.values[along] for one in members if one.row.exit_code != _WELL]
        first = min(not_well, key=in_order, default="")
        well, findings = codes.count(_WELL), codes.count(_FINDINGS)
        left = len(codes) - well - findings
        rows.append(
            [
                *values,
                str(well),
                _count(findings, "warning"),
                _count(left, "bad"),
                *([] if all_well else [first]),
            ]
        )
    return Table(heads, rows_of(rows), noun="group")


def _count(number: int, tone: Tone) -> Cell:
    return Cell(str(number), tone if number else "plain")


def _values(scenario: str) -> dict[str, str]:
    found = {}
    for part in scenario.split():
        what, _, value = part.rpartition("=")
        kind, _, detail = what.partition("=")
        short = detail.rpartition("/")[2] if kind == "lose" else detail
        found[" ".join(filter(None, (kind.upper(), short)))] = value
    return found


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
