"""The page: the verdict, the sections of the view, nodes and steps drawn, and the document itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cli.output.blocks import Section, VerdictBlock
from cli.output.forms.spreads import by_key, domains_of, is_listed, short_key
from cli.output.page import counted
from cli.output.report.embedded import embedded
from cli.output.report.parts import HtmlSection, HtmlTable, Text, buckets, nodes_table, sections_of
from cli.output.table import foldable
from cli.output.views.spread import row_after
from models.words import value_told
from planner.documents.picture import Picture
from planner.documents.plan import Document

_FOLDER = Path(__file__).parent
_HEIGHT, _FLOOR = 128, 172
_STEP = 64.0


@dataclass(frozen=True, slots=True)
class StepLabel:
    """What a step is called, and in which wave it is; 0 where there are no waves."""

    wave: int
    text: str


def page(
    command: str,
    document: Document,
    sections: Sequence[Section],
    drawn: Picture,
    told: Sequence[StepLabel] = (),
    facts: Sequence[str] = (),
    plot: Mapping[str, Any] | None = None,
) -> str:
    """The HTML of a report, which needs nothing beside it; a plot of costs stands before everything else."""
    verdict = next(
        block for section in sections for block in section.blocks if isinstance(block, VerdictBlock)
    )
    moved = bool(told)
    lead = "In the scheduler's words" if plot is None else "Cost"
    found = _titled([*sections_of(_without(sections, verdict))], lead)
    tables: list[HtmlTable] = []
    parts = [_section(section, tables) for section in found]
    if plot is not None:
        parts = parts or [{"title": lead, "parts": []}]
        parts[0]["parts"].insert(0, plot)
    play = _play(drawn, told)
    if play is not None:
        parts.append({"title": "Step by step", "parts": [{"kind": "play", **play["shown"]}]})
    parts.append(_nodes(drawn, tables, moved=moved))
    data = {"tables": [_plain(table) for table in tables], "play": play["data"] if play else None}
    css, script = style(), _file("report.js")
    text: str = template().render(
        command=command,
        title=f"planner {command}: {headline(verdict)}",
        verdict=headline(verdict),
        tone=verdict.tone,
        facts=facts,
        notes=[foldable(note) for note in document.notes],
        sections=parts,
        style=trusted(css),
        script=trusted(script),
        style_hash=hash_of(css),
        script_hash=hash_of(script),
        document=_script(document.to_dict()),
        tables=_script(data),
        version=version("kubernetes-placement-planner"),
    )
    return text


def headline(verdict: VerdictBlock) -> str:
    """The verdict as it stands above a page."""
    return foldable(verdict.text).removesuffix(":")


def _without(sections: Iterable[Section], verdict: VerdictBlock) -> Iterator[Section]:
    """The sections less the sentence that stands above them all."""
    for section in sections:
        yield Section(section.title, tuple(block for block in section.blocks if block is not verdict))


def _titled(sections: Sequence[HtmlSection], lead: str) -> list[HtmlSection]:
    """Sections that have a title, with all that follows them and has none; the first may get its own."""
    found: list[HtmlSection] = []
    for section in sections:
        if section.title or not found:
            found.append(HtmlSection(section.title or lead, section.parts))
        else:
            found[-1] = HtmlSection(found[-1].title, found[-1].parts + section.parts)
    return found


def _section(section: HtmlSection, tables: list[HtmlTable]) -> dict[str, Any]:
    parts = [_text(part) if isinstance(part, Text) else _numbered(part, tables) for part in section.parts]
    return {"title": foldable(section.title), "parts": parts}


def _text(part: Text) -> dict[str, Any]:
    return {"kind": part.kind, "text": part.text}


def _numbered(table: HtmlTable, tables: list[HtmlTable]) -> dict[str, Any]:
    tables.append(table)
    return {"kind": "table", "table": table, "number": len(tables) - 1}


def _plain(table: HtmlTable) -> list[list[str | list[str]]]:
    """The rows as the script reads them: a text, or a text and its class."""
    return [[[text, kind] if kind else text for text, kind in row] for row in table.rows]


def _nodes(drawn: Picture, tables: list[HtmlTable], *, moved: bool) -> dict[str, Any]:
    resources = drawn.nodes[0].percent if drawn.nodes else ()
    charts = {"kind": "charts", "charts": [_chart(drawn, resource, moved=moved) for resource in resources]}
    return {"title": "Nodes", "parts": [charts, _numbered(nodes_table(drawn, moved=moved), tables)]}


def _chart(drawn: Picture, resource: str, *, moved: bool) -> dict[str, Any]:
    """How many nodes are how full, as bars."""
    found = buckets(drawn, resource, moved=moved)
    most = max(max(bucket.nodes) for bucket in found) or 1
    states = ("now", "after")[: len(found[0].nodes)]
    width = (_STEP - 8) / len(states)
    bars = []
    for place, bucket in enumerate(found):
        for number, (state, nodes) in enumerate(zip(states, bucket.nodes, strict=True)):
            height = round(_HEIGHT * nodes / most, 1)
            label = f"{counted(nodes, 'node')} from {bucket.low} % of {resource}, {state}"
            bars.append(
                {
                    "state": "after" if state == "after" or len(states) == 1 else "now",
                    "x": place * _STEP + 4 + number * width,
                    "y": _FLOOR - height,
                    "width": width,
                    "height": height,
                    "label": label,
                    "number": nodes or "",
                }
            )
    told = "; ".join(f"from {b.low} %: {', then '.join(map(str, b.nodes))}" for b in found if any(b.nodes))
    colours = ", grey now and blue after" if moved else ""
    title = f"Nodes by {resource} requested{colours}"
    return {"title": title, "label": f"{title}. {told}", "bars": bars}


def _play(drawn: Picture, told: Sequence[StepLabel]) -> dict[str, Any] | None:
    """The constraints whose domains are told one by one, and what every step does to them."""
    rows = [(number, row_after(row)) for number, row in enumerate(drawn.spread)]
    listed = [(number, row) for number, row in rows if is_listed(row)]
    if not drawn.steps or not listed:
        return None
    groups: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    place_of: dict[int, tuple[int, dict[str, int]]] = {}
    for key, of_key in by_key(row for _, row in listed):
        domains = domains_of(of_key)
        shown_rows = []
        for row in of_key:
            number = next(number for number, other in listed if other is row)
            place_of[number] = len(data), {domain: place for place, domain in enumerate(domains)}
            before = [row.domains.get(domain, (0, 0))[0] for domain in domains]
            data.append({"before": before, "most": row.most})
            shown_rows.append(
                {
                    "namespace": foldable(row.namespace),
                    "workload": foldable(row.workload),
                    "max_skew": row.max_skew,
                    "before": before,
                }
            )
        groups.append(
            {
                "caption": f"Pods by {foldable(short_key(key))}",
                "domains": [foldable(value_told(domain)) for domain in domains],
                "rows": shown_rows,
            }
        )
    steps = [
        {"wave": said.wave, "text": foldable(said.text), "changes": [*_changes(step.changes, place_of)]}
        for step, said in zip(drawn.steps, told, strict=True)
    ]
    return {
        "shown": {"groups": groups, "steps": len(steps), "waves": any(said.wave for said in told)},
        "data": {"rows": data, "steps": steps},
    }


def _changes(
    changes: Iterable[tuple[int, str, int]], place_of: Mapping[int, tuple[int, Mapping[str, int]]]
) -> Iterator[list[int]]:
    for number, domain, amount in changes:
        if number in place_of:
            row, columns = place_of[number]
            if domain in columns:
                yield [row, columns[domain], amount]


def _script(data: object) -> dict[str, Any]:
    kind, text = embedded(data)
    return {"kind": kind, "text": trusted(text)}


@cache
def _file(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


def hash_of(text: str) -> str:
    """What a content security policy calls a text by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def trusted(text: str) -> Any:
    """Text of our own, or JSON without any sign that means something to HTML."""
    from markupsafe import Markup

    return Markup(text)


def style() -> str:
    """The style of all pages."""
    return _file("report.css")


@cache
def template(name: str = "page.html.j2") -> Any:
    """A page to be filled; every text that is put into it is escaped."""
    from jinja2 import Environment, StrictUndefined

    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.from_string(_file(name))
