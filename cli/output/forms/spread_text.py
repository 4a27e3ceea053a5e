"""Spread constraints on a screen: a few with a bar for every domain, many as a matrix."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.blocks import SpreadBlock, SpreadRow, Table, text_of
from cli.output.forms.spreads import (
    MOST_PANELS,
    bar,
    by_key,
    heading,
    is_listed,
    matrix,
    matrix_title,
    summed_up,
    too_many,
)
from cli.output.page import counted
from cli.output.screen import Screen
from cli.output.table import elided, folded, harmless, painted, table
from models.words import value_told

#: What all bars of a line may take, and one at most.
_BARS, _LONGEST_BAR = 36, 24
_GAP = "   "
#: To this width the names of namespaces and workloads are folded before domains are summed up.
_FOLDED_NAME = 16


def spread_lines(block: SpreadBlock, screen: Screen) -> Iterator[str]:
    """The constraints in the form that suits their number."""
    if len(block.rows) <= MOST_PANELS or block.everything:
        yield from _panels(block, screen)
    else:
        yield from _matrices(block, screen)


def _panels(block: SpreadBlock, screen: Screen) -> Iterator[str]:
    """Every constraint with its domains below it."""
    for number, row in enumerate(block.rows):
        yield from ("",) if number else ()
        title = harmless(heading(row, block.rows, everything=block.everything))
        yield from (
            painted(line, "strong", screen) for line in folded(title, screen.width, whole=screen.whole)
        )
        listed = is_listed(row, everything=block.everything)
        yield from _domains(block, row, screen) if listed else _sums(block, row, screen)


def _domains(block: SpreadBlock, row: SpreadRow, screen: Screen) -> Iterator[str]:
    """A line for every domain: its bars in all states side by side, and what is too much."""
    states = len(block.states)
    most = row.most
    room = min(_BARS // states, _LONGEST_BAR, max((screen.width or 100) // (3 * states), 1))
    digits = len(str(most))
    width = max(min(most, room) + 1 + digits, *(len(state) for state in block.states))
    most_name = (
        None if screen.width is None or screen.whole else max(screen.width - 2 - states * (width + 3) - 15, 8)
    )
    names = [elided(harmless(value_told(domain)), most_name) for domain in row.domains]
    longest = max(map(len, names), default=0)
    if states > 1:
        heads = (
            painted(state.upper(), "strong", screen) + " " * (width - len(state)) for state in block.states
        )
        yield f"  {' ' * longest}{_GAP}{_GAP.join(heads)}".rstrip()
    for name, (domain, pods) in zip(names, row.domains.items(), strict=True):
        bars = [_bar(number, most, room, digits, screen) for number in pods]
        surplus = row.surplus.get(domain, 0)
        said = painted(too_many(surplus), "bad" if row.hard else "warning", screen)
        last = [*(f"{text:<{width}}" for text in bars), said]
        yield f"  {name:<{longest}}{_GAP}{_GAP.join(last)}".rstrip()


def _bar(pods: int, most: int, room: int, digits: int, screen: Screen) -> str:
    drawn = bar(pods, most, room, signs=screen.bars)
    return f"{drawn:<{min(most, room)}} {pods:>{digits}}"


def _sums(block: SpreadBlock, row: SpreadRow, screen: Screen) -> Iterator[str]:
    """How many domains hold how many pods, in every state."""
    longest = max(len(state) for state in block.states)
    for number, state in enumerate(block.states):
        lead = f"  {state:<{longest}}{_GAP}" if len(block.states) > 1 else "  "
        width = None if screen.width is None else screen.width - len(lead)
        for place, part in enumerate(folded(harmless(summed_up(row, number)), width, whole=screen.whole)):
            yield (lead if not place else " " * len(lead)) + part


def _matrices(block: SpreadBlock, screen: Screen) -> Iterator[str]:
    """For every topology key a matrix of workloads and domains; summed up where it is too wide."""
    for number, (key, rows) in enumerate(by_key(block.rows)):
        yield from ("",) if number else ()
        yield painted(harmless(matrix_title(key, block.states)), "strong", screen)
        listed = matrix(block.states, rows)
        found = listed if _fits(listed, screen) else matrix(block.states, rows, listed=False)
        yield from table(found.heads, found.shown, screen)
        if found.more:
            yield f"and {counted(found.more, found.noun)} more (-v shows all)"


def _fits(block: Table, screen: Screen) -> bool:
    """Whether all columns have room side by side, when long names are folded."""
    lines = (block.heads, *block.shown)
    widths = [max(len(text_of(line[place])) for line in lines) for place in range(len(block.heads))]
    names = [min(width, _FOLDED_NAME) for width in widths[:2]]
    return screen.width is None or sum((*names, *widths[2:])) + len(_GAP) * (len(widths) - 1) <= screen.width
