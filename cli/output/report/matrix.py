"""The page of a sweep or a fleet: a matrix of clusters and scenarios whose cells open the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from cli.output.blocks import VerdictBlock
from cli.output.documents import document_of
from cli.output.forms import text
from cli.output.outcome import writing
from cli.output.page import Page
from cli.output.render import view_of
from cli.output.report.page import hash_of, headline, style, template, trusted
from cli.output.screen import Screen
from cli.output.views.fleet import VariedRow, figure_heads, in_order, tone_of_code, varied_rows, word
from planner.documents.fleet import FleetDocument, FleetRow

_STYLE = """
.answer{display:none}.answer:target{display:block}pre{overflow:auto;font-size:.8rem}
td a{text-decoration:none}td.good a{color:var(--good)}td.warning a,td.bad a{font-weight:600}
"""


@dataclass(frozen=True, slots=True)
class CellOf:
    """An answer in the matrix: where it is on the page, and how it ended."""

    number: int
    tone: str
    word: str


def write_matrix(target: str, document: FleetDocument) -> None:
    """Write the page."""
    with writing("--report", target):
        Path(target).write_text(html(document), "utf-8")


def html(document: FleetDocument) -> str:
    """The HTML, which needs nothing beside it."""
    told, varied = varied_rows(document)
    sections = view_of(document).sections(document, Page(Screen(), searchable=True))
    verdict = next(
        block for section in sections for block in section.blocks if isinstance(block, VerdictBlock)
    )
    css = style() + _STYLE
    rendered: str = template("matrix.html.j2").render(
        command=document.command,
        verdict=headline(verdict),
        tone=verdict.tone,
        matrix=_matrix(told, varied),
        varied=varied,
        figures=figure_heads(document.rows),
        rows=[_line(number, one, varied) for number, one in enumerate(told)],
        answers=[_answer(row) for row in document.rows],
        style=trusted(css),
        style_hash=hash_of(css),
        version=version("kubernetes-placement-planner"),
    )
    return rendered


def _matrix(told: Sequence[VariedRow], varied: Sequence[str]) -> dict[str, object] | None:
    """One thing that differs to the right, all others downwards; None where only one does."""
    if not varied[1:]:
        return None
    across = max(varied[1:], key=lambda head: len({one.values[head] for one in told}))
    down = [head for head in varied if head != across]
    columns = sorted({one.values[across] for one in told}, key=in_order)
    lines: dict[tuple[str, ...], dict[str, CellOf]] = {}
    for number, one in enumerate(told):
        cell = CellOf(number, tone_of_code(one.row.exit_code), word(one.row))
        lines.setdefault(tuple(one.values[head] for head in down), {})[one.values[across]] = cell
    ordered = sorted(lines.items(), key=lambda item: [in_order(value) for value in item[0]])
    cells = [(names, [found.get(column) for column in columns]) for names, found in ordered]
    return {"across": across, "down": down, "columns": columns, "lines": cells}


def _line(number: int, one: VariedRow, varied: Sequence[str]) -> dict[str, object]:
    row = one.row
    return {
        "number": number,
        "values": [one.values[head] for head in varied],
        "tone": tone_of_code(row.exit_code),
        "word": word(row),
        "summary": row.summary,
        "error": row.error,
    }


def _answer(row: FleetRow) -> dict[str, str]:
    return {"title": f"{row.cluster} {row.scenario}".rstrip(), "text": "\n".join(_lines(row))}


def _lines(row: FleetRow) -> Iterator[str]:
    """What the command alone shows."""
    if row.document is None:
        yield row.error
        return
    document = document_of(row.document)
    screen = Screen()
    yield from text.lines(view_of(document).sections(document, Page(screen)), screen)
    yield from (f"note: {note}" for note in document.notes)
