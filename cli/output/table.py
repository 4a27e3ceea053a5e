"""Columns as kubectl prints them; the last one may be long."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from cli.output.blocks import Tone, Words, text_of, tone_of
from cli.output.screen import Colour, Screen

_GAP = "   "
_INDENT = "    "
_NARROWEST = 30
#: A last column of at most this width stays beside the others.
_SHORT = 15
#: A column is not made narrower than this, unless the screen is hardly wider itself.
_LEAST = 8
#: Stands for a space at which a line may not be folded.
JOINT = "\u00a0"
_PIECES = re.compile(r"[^-/.,_ ]+[-/.,_ ]*|[-/.,_ ]+")
#: Characters that would move the cursor, sound the terminal or reverse the text.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_COLOURS: dict[Tone, Colour] = {
    "good": "green",
    "warning": "yellow",
    "bad": "red",
    "strong": "bold",
    "faint": "dim",
}


def table(heads: Sequence[str], rows: Sequence[Sequence[Words]], screen: Screen) -> Iterator[str]:
    """Lines of aligned columns, none wider than the screen, unless names are to stay whole.

    What is too wide is folded: first the last column, below itself if there is room, else below its
    row, unless it is its head alone that is long; then the widest of the others, where that cuts no word.
    """
    lines = [[harmless(text_of(cell)) for cell in row] for row in (heads, *rows)]
    tones: list[list[Tone]] = [["strong"] * len(heads), *([tone_of(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    widths, below = _fitted(lines, widths, screen.width, whole=screen.whole)
    for line, tone in zip(lines, tones, strict=True):
        yield from _row(line, tone, widths, screen, below=below)


def _fitted(
    lines: Sequence[Sequence[str]], widths: list[int], width: int | None, *, whole: bool
) -> tuple[list[int], bool]:
    """The columns' widths on a screen, and whether the last one goes below its row."""
    lead, last = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1), widths[-1]
    if width is None or lead + last <= width:
        return widths, False
    if lead + min(last, _NARROWEST) <= width:
        return [*widths[:-1], width - lead], False
    head = max(map(len, lines[0][-1].split()), default=0)
    last = max(head, *(len(line[-1]) for line in lines[1:]), 0)
    if last <= _SHORT and lead + last <= width:
        return [*widths[:-1], width - lead], False
    below = last > _SHORT
    if below and (whole or lead <= width):
        return widths, True
    if whole:
        return widths, False
    room = width if below else width - last - len(_GAP)
    longest = [max(_longest_piece(line[column]) for line in lines) for column in range(len(widths) - 1)]
    return [*_narrowed(widths[:-1], longest, room - len(_GAP) * (len(widths) - 2)), last], below


def _longest_piece(text: str) -> int:
    """How long the longest part is that is not cut after a sign."""
    return max(map(len, _PIECES.findall(text)), default=0)


def _narrowed(widths: list[int], longest: list[int], room: int) -> list[int]:
    """The widest columns made narrower until all have room: as long as they can, those without a cut word."""
    found = list(widths)
    while sum(found) > room:
        wide = [
            width if width > max(least, _LEAST) else 0 for width, least in zip(found, longest, strict=True)
        ]
        if not any(wide):
            break
        found[wide.index(max(wide))] -= 1
    while sum(found) > room and max(found, default=0) > _LEAST:
        found[found.index(max(found))] -= 1
    while sum(found) > room and max(found, default=0) > 1:
        found[found.index(max(found))] -= 1
    return found


def _row(
    line: list[str], tones: Sequence[Tone], widths: list[int], screen: Screen, *, below: bool
) -> Iterator[str]:
    """The lines that a row takes."""
    *first, last = line
    columns = [chopped(text, width) for text, width in zip(first, widths[:-1], strict=True)]
    if not below:
        columns.append(folded(last, widths[-1], whole=screen.whole) or [""])
    for number in range(max(map(len, columns))):
        parts = [column[number] if number < len(column) else "" for column in columns]
        yield _joined(parts, tones, widths, screen)
    if below:
        inner = None if screen.width is None else screen.width - len(_INDENT)
        yield from (
            _INDENT + painted(part, tones[-1], screen) for part in folded(last, inner, whole=screen.whole)
        )


def _joined(parts: Sequence[str], tones: Sequence[Tone], widths: Sequence[int], screen: Screen) -> str:
    """The parts of one line in their columns."""
    used = max((place for place, part in enumerate(parts) if part), default=-1)
    shown = [
        painted(part, tone, screen) + (" " * (width - len(part)) if place < used else "")
        for place, (part, tone, width) in enumerate(zip(parts, tones, widths, strict=False))
    ]
    return _GAP.join(shown[: used + 1]).replace(JOINT, " ")


def painted(text: str, tone: Tone, screen: Screen) -> str:
    """The text in the colour of its meaning, where there are colours."""
    colour = _COLOURS.get(tone)
    return text if colour is None else screen.paint(text, colour)


def folded(text: str, width: int | None, *, whole: bool = False) -> list[str]:
    """The text in lines of at most this width, or in one; a word without room may stay `whole`."""
    if width is None:
        return [text.replace(JOINT, " ")]
    lines = textwrap.wrap(text, max(width, 1), break_on_hyphens=False, break_long_words=not whole)
    return [line.replace(JOINT, " ") for line in lines]


def hanging(text: str, width: int) -> list[str]:
    """A line and what does not fit in it below, set in; a long path stays whole, to be pasted back."""
    return textwrap.wrap(
        harmless(text),
        max(width, 1),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def chopped(text: str, width: int) -> list[str]:
    """A name in pieces of at most this width, cut after a sign where there is one."""
    if len(text) <= width:
        return [text]
    found = [""]
    for piece in _PIECES.findall(text):
        rest = piece
        if len(found[-1]) + len(rest) > width and found[-1]:
            found.append("")
        while len(found[-1]) + len(rest) > width:
            cut = width - len(found[-1])
            found[-1] += rest[:cut]
            rest = rest[cut:]
            found.append("")
        found[-1] += rest
    return [part for part in found if part]


def elided(text: str, width: int | None) -> str:
    """The text in at most this width; what is too much goes from its middle."""
    if width is None or len(text) <= width:
        return text
    kept = max(width - 1, 1)
    return f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"


def foldable(text: str) -> str:
    """The text for a reader that folds lines by itself."""
    return harmless(text).replace(JOINT, " ")


def harmless(text: str) -> str:
    """The text with the characters that control a terminal spelled out."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
