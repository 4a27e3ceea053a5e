"""The parts of a page, made from the blocks of a view: texts, commands, and tables that can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cli.output.blocks import (
    Block,
    Section,
    Sentence,
    SpreadBlock,
    SpreadRow,
    Table,
    Verbatim,
    VerdictBlock,
    spelled,
    text_of,
    tone_of,
)
from cli.output.forms.spreads import by_key, changes, domains_of, is_listed, over, short_key, summed_up
from cli.output.page import counted
from cli.output.table import foldable
from models.words import value_told
from planner.documents.picture import Picture

#: (text, class) of a cell; most have no class.
HtmlCell = tuple[str, str]
#: So many shades a heat map has, and so many rows are in the page before anything runs.
SHADES, FIRST_ROWS = 8, 50
#: Nobody reads more rows, and a browser that searched them would stand still.
_MOST_ROWS = 20_000
#: So few rows need no search.
_MOST_UNSEARCHED = 8
#: More domains than these are summed up.
_MOST_COLUMNS = 12
#: More columns of domains are squeezed on paper.
_MOST_ON_PAPER = 12


@dataclass(frozen=True, slots=True)
class Head:
    """A column: what it is called, and how many it covers where heads stand in two lines."""

    text: str
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table with all its rows, of which the page shows the first until the user asks for more."""

    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[HtmlCell, ...], ...]
    kind: str = "plain"
    #: What stands above some heads, and how many of them: the states above their domains.
    groups: tuple[tuple[str, int], ...] = ()

    @property
    def searchable(self) -> bool:
        """Whether it is long enough to search in."""
        return len(self.rows) > _MOST_UNSEARCHED

    @property
    def first(self) -> tuple[tuple[HtmlCell, ...], ...]:
        """The rows that are in the page from the start."""
        return self.rows[:FIRST_ROWS]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, or lines that keep their form."""

    text: str
    kind: str


Part = HtmlTable | Text


@dataclass(frozen=True, slots=True)
class HtmlSection:
    """A part of the page under a heading."""

    title: str
    parts: tuple[Part, ...]


def sections_of(sections: Iterable[Section]) -> Iterator[HtmlSection]:
    """The sections of a view; those without a title belong to the one before."""
    for section in sections:
        parts = tuple(part for block in section.blocks for part in _parts(block, section.title))
        if parts:
            yield HtmlSection(section.title, parts)


def _parts(block: Block, title: str) -> Iterator[Part]:
    match block:
        case VerdictBlock():
            yield Text(foldable(block.text), "verdict")
        case Sentence():
            yield Text(foldable(block.text).strip(), "sentence")
        case Verbatim():
            lines = [line.removeprefix("$ ") for line in block.lines]
            yield Text("\n".join(foldable(line) for line in lines), block.language)
        case Table():
            yield _table(block, title)
            if (more := len(block.rows) - _MOST_ROWS) > 0:
                yield Text(f"and {counted(more, block.noun)} more, all of which -o jsonl has", "sentence")
        case SpreadBlock():
            yield from heat_maps(block)


def _table(block: Table, title: str) -> HtmlTable:
    rows = tuple(
        tuple((foldable(text_of(cell)).strip(), _class(tone_of(cell))) for cell in row)
        for row in block.rows[:_MOST_ROWS]
    )
    return HtmlTable(title or "Rows", _heads(block.heads, rows), rows)


def _class(tone: str) -> str:
    return "" if tone == "plain" else tone


def _heads(names: Sequence[str], rows: Sequence[Sequence[HtmlCell]]) -> tuple[Head, ...]:
    """Columns in which all rows have numbers are numeric."""
    return tuple(
        Head(spelled(name), numeric=bool(rows) and all(_is_number(row[place][0]) for row in rows))
        for place, name in enumerate(names)
    )


def _is_number(text: str) -> bool:
    return text.removeprefix("+").removeprefix("-").removesuffix("%").replace(".", "", 1).isdigit()


def heat_maps(block: SpreadBlock) -> Iterator[HtmlTable]:
    """For every topology key a map of workloads and domains, the states side by side."""
    for key, rows in by_key(block.rows):
        listed = all(is_listed(row) for row in rows)
        domains = domains_of(rows)
        told = domains if listed and len(domains) <= _MOST_COLUMNS else []
        yield _heat_map(f"Pods by {short_key(key)}", block.states, rows, told)


def _heat_map(
    caption: str, states: Sequence[str], rows: Sequence[SpreadRow], domains: Sequence[str]
) -> HtmlTable:
    several = len(states) > 1
    columns = [*map(value_told, domains)] * len(states) or [state.capitalize() for state in states]
    lead = [
        *(Head(text) for text in ("Namespace", "Workload", "When")),
        Head("maxSkew", numeric=True),
        Head("Skew", numeric=not several),
    ]
    heads = (*lead, *(Head(foldable(text), numeric=bool(domains)) for text in columns))
    cells = tuple((*_whose(row, rows), *_heat(row, states, domains)) for row in rows)
    above = (("", len(lead)), *((state, len(domains)) for state in states)) if several and domains else ()
    wide = " wide" if len(columns) > _MOST_ON_PAPER else ""
    return HtmlTable(caption, heads, cells, f"heat{wide}" if domains else "plain", above)


def _whose(row: SpreadRow, rows: Sequence[SpreadRow]) -> Iterator[HtmlCell]:
    _, of, selector = over(row, rows).partition(" of ")
    remark = f"; {row.remark}" if row.remark else ""
    yield foldable(row.namespace), ""
    yield foldable(f"{row.workload}{of}{selector}{remark}"), ""
    yield row.when, ""
    yield str(row.max_skew), ""
    yield changes(row.skews), (("bad" if row.hard else "warning") if row.is_broken else "")


def _heat(row: SpreadRow, states: Sequence[str], domains: Sequence[str]) -> Iterator[HtmlCell]:
    """A shaded cell for every domain in every state, or how many hold how many."""
    if not domains:
        yield from ((foldable(summed_up(row, state)), "sum") for state in range(len(states)))
        return
    most = row.most
    for state in range(len(states)):
        for domain in domains:
            pods = row.domains.get(domain)
            surplus = row.surplus.get(domain, 0) if state == len(states) - 1 else 0
            yield ("", "h0") if pods is None else _shaded(pods[state], most, surplus)


def _shaded(pods: int, most: int, surplus: int) -> HtmlCell:
    shade = -(-SHADES * pods // most) if most else 0
    return (f"{pods} (+{surplus})", f"h{shade} over") if surplus else (str(pods), f"h{shade}")


def nodes_table(picture: Picture, *, moved: bool) -> HtmlTable:
    """Every node with its zone, pods and use, the fullest first."""
    resources = list(picture.nodes[0].percent) if picture.nodes else []
    states = ("now", "after") if moved else ("now",)
    heads = [Head("Node"), Head("Zone")]
    heads += [Head(f"{name} {state}", numeric=True) for name in ("pods", *resources) for state in states]
    order = sorted(
        picture.nodes,
        key=lambda node: (-max(use[len(states) - 1] for use in node.percent.values()), node.name),
    )
    rows = tuple(
        (
            (foldable(node.name), ""),
            (foldable(node.zone), ""),
            *((str(node.pods[state]) if node.there[state] else "", "") for state in range(len(states))),
            *(
                (f"{node.percent[name][state]}%", f"u{min(node.percent[name][state] // 5, 20)}")
                if node.there[state]
                else ("", "")
                for name in resources
                for state in range(len(states))
            ),
        )
        for node in order
    )
    return HtmlTable("Nodes by use, the fullest first", tuple(heads), rows, "use")


@dataclass(frozen=True, slots=True)
class Bucket:
    """So many nodes are used from so many per cent on, now and after."""

    low: int
    nodes: tuple[int, ...]


def buckets(picture: Picture, resource: str, *, moved: bool) -> tuple[Bucket, ...]:
    """How many nodes are how full, in steps of ten per cent; what is over a hundred is in the last."""
    counts = [[0, 0] for _ in range(10)]
    for node in picture.nodes:
        for state, percent in enumerate(node.percent[resource]):
            counts[min(percent // 10, 9)][state] += node.there[state]
    return tuple(Bucket(10 * place, tuple(found[: 2 if moved else 1])) for place, found in enumerate(counts))
