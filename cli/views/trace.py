"""Why one pod went where it went: every node with its score, or with what it was refused for."""

from __future__ import annotations

from collections.abc import Iterator

from cli.screen import Screen
from cli.table import JOINT, table
from planner.documents.plan import Decision


def lines(decision: Decision, screen: Screen) -> Iterator[str]:
    """The nodes that one decision looked at, the best first."""
    rows = [*_scored(decision), *_rejected(decision)]
    if not rows:
        return
    yield f"{decision.pod} -> {decision.node or '<none>'}"
    yield from (f"  {line}" for line in table(("NODE", "TOTAL", "WHY"), rows, _inner(screen)))


def _scored(decision: Decision) -> Iterator[list[str]]:
    totals, scores = decision.totals or {}, decision.scores or {}
    if not totals and decision.node is not None:
        yield [decision.node, "-", "the only node that fits"]
    for node, total in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        parts = [f"{plugin}{JOINT}{found[node]}" for plugin, found in scores.items() if found.get(node)]
        yield [node, str(total), ", ".join(parts)]


def _rejected(decision: Decision) -> Iterator[list[str]]:
    for node, rejection in (decision.rejected or {}).items():
        yield [node, "-", f"{rejection.plugin}: {', '.join(rejection.reasons)}"]


def _inner(screen: Screen) -> Screen:
    return Screen(None if screen.width is None else screen.width - 2, screen.coloured)
