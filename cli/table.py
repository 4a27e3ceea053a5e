"""Columns as kubectl prints them; the last one may be long."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from cli.screen import Screen, visible

_GAP = "   "
_INDENT = "    "
_NARROWEST = 30
#: Stands for a space at which a line may not be folded.
JOINT = "\u00a0"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], screen: Screen) -> Iterator[str]:
    """Lines of aligned columns.

    Where they are wider than the screen the last column is folded, below itself if there is room,
    else below its row.
    """
    lines = [tuple(screen.paint(head, "bold") for head in heads), *rows]
    widths = [max(visible(line[column]) for line in lines) for column in range(len(heads))]
    lead = sum(widths[:-1]) + len(_GAP) * (len(heads) - 1)
    fits = screen.width is None or lead + widths[-1] <= screen.width
    if fits or screen.width is None:
        yield from (_joined(line, widths) for line in lines)
    elif screen.width - lead >= _NARROWEST:
        for line in lines:
            first, *more = folded(line[-1], screen.width - lead) or [""]
            yield _joined((*line[:-1], first), widths)
            yield from (" " * lead + part for part in more)
    else:
        yield _joined(lines[0][:-1], widths)
        for row in rows:
            yield _joined(row[:-1], widths)
            yield from (_INDENT + part for part in folded(row[-1], screen.width - len(_INDENT)))


def folded(text: str, width: int | None) -> list[str]:
    """The text in lines of at most this width, or in one."""
    if width is None:
        return [text.replace(JOINT, " ")]
    # textwrap counts what colours take as well: such lines are a little short, never too long.
    lines = textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)
    return [line.replace(JOINT, " ") for line in lines]


def elided(text: str, width: int | None) -> str:
    """The text in at most this width; what is too much goes from its middle."""
    if width is None or len(text) <= width:
        return text
    kept = max(width - 1, 1)
    return f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - visible(cell)) for cell, width in zip(cells, widths, strict=False)]
    return _GAP.join(padded).rstrip().replace(JOINT, " ")
