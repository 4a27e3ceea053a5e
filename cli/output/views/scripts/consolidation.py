"""A ConsolidationPlan as a shell script: nodes that go are cordoned, emptied by waves, and left marked."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.page import counted
from cli.output.views.scripts.frame import Frame, checked, command, script
from cli.output.views.scripts.moves import rows
from models.errors import InputError
from models.snapshot import Snapshot
from planner.documents.consolidation import ConsolidationPlan


def lines(
    document: ConsolidationPlan, snapshot: Snapshot, again: str, *, delete_nodes: bool = False
) -> Iterator[str]:
    """The script; `again` is the command line that plans once more."""
    if document.added:
        what = counted(len(document.added), "machine")
        raise InputError([f"-o script: it begins with {what} to add: add what is needed, and plan again"])
    waves = document.steps[-1].wave if document.steps else 0
    moves = f"{counted(len(document.steps), 'move')} in {counted(waves, 'wave')}"
    title = f"{counted(len(document.removed), 'node')} emptied by {moves}, planned by `planner consolidate`."
    parts = ("pins", "cordons", "moves", "consolidation")
    settings = (f"DELETE={'yes' if delete_nodes else ''} # whether to print how the empty nodes are deleted",)
    return script(Frame(title, parts, again), snapshot, _plan(document, snapshot), settings)


def _plan(document: ConsolidationPlan, snapshot: Snapshot) -> Iterator[str]:
    """The nodes that are cordoned, then what every plan of moves says."""
    going = [row.node for row in document.removed]
    checked(*going, *document.cordoned_meanwhile)
    if going:
        yield "# goes NODE: cordoned from the beginning, and empty in the end"
        yield from (command("goes", name) for name in going)
    if document.cordoned_meanwhile:
        yield "# stays NODE: cordoned until all waves are over"
        yield from (command("stays", name) for name in document.cordoned_meanwhile)
    yield from rows(document.steps, snapshot, (*going, *document.cordoned_meanwhile))
