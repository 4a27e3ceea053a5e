"""What a report draws beside a document: every node, and what each step does to the spread."""

from __future__ import annotations

from planner.documents.plan import DocumentPart, SpreadChange


class NodeUse(DocumentPart):
    """A node, and in per cent what pods request of it, now and after all steps: by resource.

    `there` says whether it is there now, and after all steps.
    """

    name: str
    zone: str
    pods: tuple[int, int]
    percent: dict[str, tuple[int, int]]
    there: tuple[bool, bool] = (True, True)


class SpreadStep(DocumentPart):
    """A step, and by how much it changes which domain of which constraint, by its place in `spread`."""

    pod: str
    source: str | None
    node: str | None
    changes: tuple[tuple[int, str, int], ...]


class Picture(DocumentPart):
    """Nodes and constraints before and after steps, and the steps one by one."""

    nodes: tuple[NodeUse, ...]
    spread: tuple[SpreadChange, ...] = ()
    steps: tuple[SpreadStep, ...] = ()
