"""Sections as lines of text, none wider than the screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cli.output.blocks import Block, Section, Sentence, SpreadBlock, Table, Verbatim, VerdictBlock
from cli.output.forms.shell import command_lines
from cli.output.forms.spread_text import spread_lines
from cli.output.page import counted
from cli.output.screen import Screen
from cli.output.table import chopped, folded, harmless, painted, table


def lines(sections: Iterable[Section], screen: Screen) -> Iterator[str]:
    """The text, an empty line between any two sections."""
    found = [[*_section(section, screen)] for section in sections]
    for number, part in enumerate(part for part in found if part):
        yield from ("",) if number else ()
        yield from part


def _section(section: Section, screen: Screen) -> Iterator[str]:
    for block in section.blocks:
        yield from block_lines(block, screen)


def block_lines(block: Block, screen: Screen) -> Iterator[str]:
    """The lines of one block."""
    match block:
        case VerdictBlock():
            yield from (
                painted(line, block.tone, screen)
                for line in folded(harmless(block.text), screen.width, whole=screen.whole)
            )
        case Sentence():
            yield from _sentence(block, screen)
        case Verbatim():
            yield from _verbatim(block, screen)
        case Table():
            yield from _table(block, screen)
        case SpreadBlock():
            yield from spread_lines(block, screen)


def _sentence(block: Sentence, screen: Screen) -> Iterator[str]:
    """A paragraph; an item of a list has its further lines below its words."""
    text, lead = harmless(block.text), " " * block.indent
    number, dot, rest = text.lstrip().partition(". ")
    hanging = len(text) - len(rest) if dot and number.isdigit() else 0
    parts = folded(text[hanging:], _inner(screen, block.indent + hanging).width, whole=screen.whole)
    for place, part in enumerate(parts or [""]):
        yield lead + painted((text[:hanging] if not place else " " * hanging) + part, block.tone, screen)


def _verbatim(block: Verbatim, screen: Screen) -> Iterator[str]:
    for line in block.lines:
        text = harmless(line)
        lead = " " * (block.indent + len(text) - len(text.lstrip()))
        width = _inner(screen, len(lead)).width
        if width is None or len(text.lstrip()) <= width:
            yield lead + text.lstrip()
        elif block.language == "shell":
            yield from command_lines(text.lstrip(), width + len(lead), lead)
        else:
            text = text.lstrip()
            reasons = block.language == "reasons" or screen.whole
            parts = folded(text, width, whole=screen.whole) if reasons else chopped(text, width)
            yield from (lead + part for part in parts)


def _table(block: Table, screen: Screen) -> Iterator[str]:
    if not block.rows:
        return
    lead = " " * block.indent
    for line in table(block.heads, block.shown, _inner(screen, block.indent)):
        yield lead + line
    if block.more:
        yield f"{lead}and {counted(block.more, block.noun)} more (-v shows all)"


def _inner(screen: Screen, indent: int) -> Screen:
    """The screen right of an indent."""
    return screen if screen.width is None else replace(screen, width=max(screen.width - indent, 1))
