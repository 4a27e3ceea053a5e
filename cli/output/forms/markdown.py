"""Sections as Markdown for a pull request: GitHub's tables, fenced commands, every name as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cli.output.blocks import (
    Block,
    Cell,
    Section,
    Sentence,
    SpreadBlock,
    SpreadRow,
    Table,
    Verbatim,
    VerdictBlock,
    Words,
    spelled,
    text_of,
)
from cli.output.forms.spreads import (
    MOST_PANELS,
    bar,
    by_key,
    changes,
    is_listed,
    matrix,
    matrix_title,
    over,
    summed_up,
    too_many,
)
from cli.output.page import counted
from cli.output.table import foldable, harmless
from models.words import value_told

_SPECIAL = re.compile(r"([\\`*_{}\[\]|~$])")
_FENCES = {"reasons": "text", "shell": "sh", "yaml": "yaml"}
_LONGEST_BAR = 12
#: A pull request is no place for more rows, even where a screen would have them.
_MOST_ROWS = 200
_BREAK = "<br>"
#: What stands below an item of a list is indented to belong to it.
_BELOW_ITEM = "   "


def lines(sections: Iterable[Section]) -> Iterator[str]:
    """The text, an empty line between any two blocks."""
    first = True
    for section in sections:
        parts = [list(_block(block)) for block in section.blocks]
        if section.title and parts:
            parts.insert(0, [f"### {escaped(section.title)}"])
        for part in parts:
            yield from () if first else ("",)
            yield from part
            first = False


def escaped(text: str) -> str:
    """The text such that Markdown shows it sign by sign."""
    marked = _SPECIAL.sub(r"\\\1", foldable(text))
    shown = marked.replace("&", "&amp;").replace("<", "&lt;")
    # Only at the start of a line a sign of its own.
    return f"&gt;{shown[1:]}" if shown.startswith(">") else shown


def _prose(text: str) -> str:
    """A sentence, in which commands stand between signs of their own."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(f"`{foldable(part)}`" if at % 2 else escaped(part) for at, part in enumerate(parts))


def _block(block: Block) -> Iterator[str]:
    match block:
        case VerdictBlock():
            yield f"**{escaped(block.text)}**"
        case Sentence():
            yield _prose(block.text).strip()
        case Verbatim():
            yield from _fenced(block)
        case Table():
            yield from _table(block)
        case SpreadBlock():
            yield from _spread(block)


def _fenced(block: Verbatim) -> Iterator[str]:
    """The lines between fences that none of them can close."""
    lines = [harmless(line.removeprefix("$ ") if block.language == "shell" else line) for line in block.lines]
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence, lead = "`" * max(3, longest + 1), _BELOW_ITEM if block.language != "reasons" else ""
    yield f"{lead}{fence}{_FENCES[block.language]}"
    yield from (lead + line for line in lines)
    yield lead + fence


def _table(block: Table) -> Iterator[str]:
    shown = block.shown[:_MOST_ROWS]
    yield _row([escaped(spelled(head)) for head in block.heads])
    yield _row(["---"] * len(block.heads))
    yield from (_row([_cell(cell) for cell in row]) for row in shown)
    if len(shown) < len(block.rows):
        yield ""
        yield f"and {counted(len(block.rows) - len(shown), block.noun)} more"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(words: Words) -> str:
    """What is wrong stands out in bold, as there are no colours."""
    text = escaped(text_of(words).strip())
    return f"**{text}**" if text and isinstance(words, Cell) and words.tone == "bad" else text


def _spread(block: SpreadBlock) -> Iterator[str]:
    """A row for every constraint with its domains in it; of many a matrix for every key."""
    if len(block.rows) <= MOST_PANELS or block.everything:
        heads = (
            "NAMESPACE",
            "WORKLOAD",
            "OVER",
            "WHEN",
            "MAXSKEW",
            "SKEW",
            *(s.upper() for s in block.states),
        )
        yield from _heads(heads)
        yield from (_row(_constraint(row, block)) for row in block.rows)
        return
    for number, (key, rows) in enumerate(by_key(block.rows)):
        yield from ("",) if number else ()
        yield escaped(matrix_title(key, block.states))
        yield ""
        yield from _table(matrix(block.states, rows))


def _heads(heads: Iterable[str]) -> Iterator[str]:
    shown = [spelled(head) for head in heads]
    yield _row(shown)
    yield _row(["---"] * len(shown))


def _constraint(row: SpreadRow, block: SpreadBlock) -> Iterator[str]:
    key = over(row, block.rows, everything=block.everything)
    remark = f"{_BREAK}{escaped(row.remark)}" if row.remark else ""
    yield from (escaped(text) for text in (row.namespace, row.workload, key, row.when))
    yield str(row.max_skew)
    skew = escaped(changes(row.skews))
    yield (f"**{skew}**" if row.is_broken and row.hard else skew) + remark
    for state in range(len(block.states)):
        yield _domains(row, state, everything=block.everything)


def _domains(row: SpreadRow, state: int, *, everything: bool) -> str:
    if not is_listed(row, everything=everything):
        return escaped(summed_up(row, state))
    most = row.most
    is_last = state == len(row.skews) - 1
    parts = []
    for domain, pods in row.domains.items():
        drawn = bar(pods[state], most, _LONGEST_BAR, signs=True)
        surplus = too_many(row.surplus.get(domain, 0)) if is_last else ""
        words = [escaped(value_told(domain)), drawn, str(pods[state]), f"**{surplus}**" if surplus else ""]
        parts.append(" ".join(word for word in words if word))
    return _BREAK.join(parts)
