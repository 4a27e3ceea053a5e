"""A DrainPlan: the nodes in their order, where the pods go, and what is in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cli.page import MANY_ROWS, Page, counted
from cli.table import folded, table
from cli.views.explanation import fix_lines
from cli.views.verdict import paragraphs
from planner.documents.drain import BlockedNode, DrainPlan, DrainStep

#: So many nodes that pods of one node go to are named.
_MOST_NAMES = 4


def lines(document: DrainPlan, page: Page) -> Iterator[str]:
    """The plan as a person reads it."""
    if document.steps:
        yield from _steps(document, page)
        yield ""
    for row in document.blocked:
        yield from _blocked(row, page)
        yield ""
    pending = list(paragraphs(document.pending, page))
    if pending:
        yield from pending
        yield ""
    yield _summary(document, page)


def names(document: DrainPlan) -> Iterator[str]:
    """The nodes in the order in which they are drained."""
    return (f"node/{step.node}" for step in document.steps)


def _steps(document: DrainPlan, page: Page) -> Iterator[str]:
    rows = [
        [str(step.wave), step.node, str(len(step.evictions)), _lands(step, page)] for step in document.steps
    ]
    shown = rows if page.everything or len(rows) <= MANY_ROWS else rows[:MANY_ROWS]
    yield from table(("WAVE", "NODE", "EVICTIONS", "LANDS"), shown, page.screen)
    if len(shown) < len(rows):
        yield f"and {len(rows) - len(shown)} nodes more (-o wide shows all)"


def _lands(step: DrainStep, page: Page) -> str:
    """`b1 3, b2 1`: how many go where; every pod with its node when everything is wanted."""
    if page.everything:
        return ", ".join(f"{row.pod} -> {row.lands or '<none>'}" for row in step.evictions)
    found = Counter(row.lands or "<none>" for row in step.evictions).most_common()
    parts = [f"{node} {pods}" for node, pods in found[:_MOST_NAMES]]
    more = len(found) - len(parts)
    return ", ".join([*parts, *([f"{more} nodes more"] if more else [])])


def _blocked(row: BlockedNode, page: Page) -> Iterator[str]:
    yield page.screen.paint(f"{row.node} is not emptied: {row.pod} stays.", "red")
    width = None if page.screen.width is None else page.screen.width - 2
    yield from (f"  {line}" for line in folded(row.message, width))
    if not row.fixes:
        yield "  Neither a replica more nor another budget frees it."
    for number, fix in enumerate(row.fixes, start=1):
        yield from fix_lines(number, fix.model_copy(update={"node": ""}), page)


def _summary(document: DrainPlan, page: Page) -> str:
    emptied = len(document.nodes) - len(document.blocked)
    waves = len({step.wave for step in document.steps})
    moved = sum(len(step.evictions) for step in document.steps)
    told = f"{emptied} of {counted(len(document.nodes), 'node')} emptied in {counted(waves, 'wave')}"
    parts = [told, counted(moved, "eviction")]
    pending = document.after.pending - document.before.pending
    if pending > 0:
        parts.append(f"{counted(pending, 'pod')} more pending than before")
    over = document.after.hard_excess - document.before.hard_excess
    if over > 0:
        parts.append(f"{counted(over, 'pod')} more too many in domains than before")
    well = emptied == len(document.nodes) and pending <= 0 and over <= 0
    return page.screen.paint("; ".join(parts) + ".", "green" if well else "red")
