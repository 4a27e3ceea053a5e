"""Why one pod went where it went: every node with its score, or with what it was refused for."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.blocks import Block, Sentence, Table, rows_of
from cli.output.table import JOINT
from planner.documents.plan import Decision


def blocks(decision: Decision) -> Iterator[Block]:
    """The nodes that one decision looked at, the best first."""
    rows = [*_scored(decision), *_rejected(decision)]
    if rows:
        yield Sentence(f"{decision.pod} -> {decision.node or '<none>'}")
        yield Table(("NODE", "TOTAL", "WHY"), rows_of(rows), noun="node", indent=2)


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
