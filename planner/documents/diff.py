"""The document of `planner diff`: what is different between two snapshots."""

from __future__ import annotations

from typing import Literal

from planner.documents.move_plan import Balance
from planner.documents.plan import Document, DocumentPart, SpreadChange, WorkloadPart, WorseConstraint


class PodPart(DocumentPart):
    """What is said about a pod."""

    pod: str
    """The pod."""
    workload: str
    """Its workload."""


class MovedPod(PodPart):
    """A pod that is on another node, under its own name or as the pod that its controller made instead."""

    source: str
    """The node before."""
    node: str
    """The node now."""
    replacement: str | None = None
    """The pod that its controller made instead; null where the pod has kept its name."""


class PendingPod(PodPart):
    """A pod that waits for a node."""

    was: str | None
    """The node that it, or the pod that it stands for, had before; null for a new one."""


class PlacedPod(PodPart):
    """A pod that waited before and has a node now."""

    node: str
    """The node that it has now."""


class WorkloadChange(WorkloadPart):
    """How many pods of a workload are on nodes, and how many wait, before and after."""

    placed_before: int
    """Its pods on nodes before."""
    placed_after: int
    """The same after."""
    pending_before: int
    """Its pods without a node before."""
    pending_after: int
    """The same after."""


class NodeDifference(DocumentPart):
    """In what some nodes are not what they were, all of them in the same."""

    what: Literal["taints", "labels", "allocatable"]
    """What is looked at."""
    nodes: tuple[str, ...]
    """The names of the nodes."""
    before: tuple[str, ...]
    """What they had before and have no longer: `key=value:NoSchedule`, `key=value`, `cpu 4`."""
    after: tuple[str, ...]
    """What they have now and did not before."""


class NodeChanges(DocumentPart):
    """Nodes that are new or gone, cordoned or not since, or no longer what they were to the scheduler."""

    added: tuple[str, ...] = ()
    """Names of new nodes."""
    removed: tuple[str, ...] = ()
    """Nodes that are gone."""
    cordoned: tuple[str, ...] = ()
    """Nodes that are cordoned since."""
    uncordoned: tuple[str, ...] = ()
    """Nodes that no longer are."""
    remade: tuple[str, ...] = ()
    """Nodes that were deleted and have come again under their names, by their uids."""
    tainted: tuple[str, ...] = ()
    """Nodes with other taints than before, that of a cordon aside."""
    labelled: tuple[str, ...] = ()
    """Nodes with other labels than before."""
    resized: tuple[str, ...] = ()
    """Nodes of which other amounts are allocatable than before."""
    different: tuple[NodeDifference, ...] = ()
    """In what the nodes of the last three lists differ."""


class Diff(Document):
    """What is different in the second snapshot."""

    kind: Literal["Diff"] = "Diff"
    before: Balance
    """The first snapshot; with -n its pods of that namespace."""
    after: Balance
    """The second snapshot."""
    nodes: NodeChanges
    """The nodes that changed."""
    spread: tuple[SpreadChange, ...] = ()
    """The constraints whose pods per domain differ. Changed terms make another constraint; one that is in one
    snapshot only has no domains in the other."""
    worse: tuple[WorseConstraint, ...] = ()
    """DoNotSchedule constraints that are more broken than before, whatever else has got better."""
    moved: tuple[MovedPod, ...] = ()
    """Pods that are on another node. Of the pods of a workload that are gone and those that are new, as many
    as there are on the same node have stayed; the others are paired in the order of their names."""
    pending: tuple[PendingPod, ...] = ()
    """Pods that wait and did not before."""
    placed: tuple[PlacedPod, ...] = ()
    """Pods that waited before under this name and have a node now."""
    workloads: tuple[WorkloadChange, ...] = ()
    """Those of which other numbers of pods run or wait."""
