"""The document of `planner diff`: what is different between two snapshots."""

from __future__ import annotations

from typing import Literal

from planner.documents.move_plan import Balance
from planner.documents.plan import Document, DocumentPart, SpreadChange


class MovedPod(DocumentPart):
    """A pod that is on another node, under its own name or as the pod that its controller made instead."""

    pod: str
    workload: str
    source: str
    node: str
    replacement: str | None = None


class PendingPod(DocumentPart):
    """A pod that waits for a node; `was` is the node that it, or the pod it stands for, had before."""

    pod: str
    workload: str
    was: str | None


class PlacedPod(DocumentPart):
    """A pod that waited before and has a node now."""

    pod: str
    workload: str
    node: str


class WorkloadChange(DocumentPart):
    """How many pods of a workload are on nodes, and how many wait, before and after."""

    namespace: str
    workload: str
    placed_before: int
    placed_after: int
    pending_before: int
    pending_after: int


class NodeChanges(DocumentPart):
    """Nodes that are new, gone, or cordoned or not since."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    cordoned: tuple[str, ...] = ()
    uncordoned: tuple[str, ...] = ()


class Diff(Document):
    """What is different in the second snapshot."""

    kind: Literal["Diff"] = "Diff"
    before: Balance
    after: Balance
    nodes: NodeChanges
    spread: tuple[SpreadChange, ...] = ()
    moved: tuple[MovedPod, ...] = ()
    pending: tuple[PendingPod, ...] = ()
    placed: tuple[PlacedPod, ...] = ()
    workloads: tuple[WorkloadChange, ...] = ()
