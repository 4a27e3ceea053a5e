"""The document of `planner drain`: nodes in waves, where each evicted pod lands, and what is in the way."""

from __future__ import annotations

from typing import Literal

from planner.documents.explanation import Fix
from planner.documents.move_plan import Balance
from planner.documents.plan import Document, DocumentPart, PendingReason, SpreadChange, WorseConstraint


class DrainEviction(DocumentPart):
    """A pod that is evicted, and where its replacement lands."""

    pod: str
    """The pod."""
    lands: str | None
    """The node where its replacement lands when ties go to the smallest name; null where it stays pending or
    nothing makes it again."""


class DrainStep(DocumentPart):
    """A node that is drained, the wave in which it was last asked, and the evictions in their order."""

    wave: int
    """The wave in which the node was last asked."""
    node: str
    """The node."""
    evictions: tuple[DrainEviction, ...]
    """The evictions in their order; none for a node that has only pods that stay."""


Reason = Literal[
    "Budget", "NoController", "LocalStorage", "NodeNotReady", "Finalizer", "Terminating", "NodeName"
]


class StayingPod(DocumentPart):
    """A pod that stays on a drained node, why it does, and what lets it go."""

    pod: str
    """The pod."""
    message: str
    """What the eviction API (`Budget`) or kubectl drain (`NoController`, `LocalStorage`) says, or why the pod
    does not end."""
    reason: Reason = "Budget"
    """Why it stays."""
    workload: str = ""
    """Its workload."""
    fixes: tuple[Fix, ...] = ()
    """What lets it go, each tried out; others may still keep the node."""
    exhausted: bool = False
    """Whether, where a budget keeps it, all changes were tried out that could let it go: one more replica,
    and budgets that let one more pod go."""


class BlockedNode(DocumentPart):
    """A node that is not empty in the end: the pods that stay, why they do, and what frees the node."""

    node: str
    """The node."""
    pod: str
    """The first pod that stays."""
    message: str
    """What is said about that pod, as in `pods`."""
    reason: Reason = "Budget"
    """Why that pod stays."""
    fixes: tuple[Fix, ...] = ()
    """What frees the node, each tried out."""
    exhausted: bool = False
    """Whether, where a budget keeps that pod, all changes were tried out that could let it go: one more
    replica, and budgets that let one more pod go."""
    pods: tuple[StayingPod, ...] = ()
    """All pods that hold the node, the first one too. Where kubectl drain refuses it for some pods, these
    alone: what holds others shows when it does no longer."""


class DrainedJob(DocumentPart):
    """What the evictions of a drain do to a Job."""

    namespace: str
    """The namespace of the Job."""
    job: str
    """The Job."""
    evictions: int
    """How many of its pods are evicted."""
    outcome: Literal["KeepsRunning", "LosesRetries", "Fails"]
    """What that does to it."""
    reason: str = ""
    """Of a failure, as the job controller says it."""
    retries: int | None = None
    """The retries that it bears in all; null where none are counted. With `backoffLimitPerIndex` those of the
    index with the fewest left."""
    retries_left: int | None = None
    """Those left after the evictions."""


class DrainPlan(Document):
    """In which order nodes are drained, and what that leads to."""

    kind: Literal["DrainPlan"] = "DrainPlan"
    nodes: tuple[str, ...]
    """The nodes to be drained; all are cordoned first."""
    surge: tuple[str, ...] = ()
    """New nodes that come before."""
    steps: tuple[DrainStep, ...]
    """The nodes, in order."""
    blocked: tuple[BlockedNode, ...] = ()
    """Nodes that are not empty in the end."""
    played_to_end: bool = True
    """False where pods evict each other in a loop: it was given up at some moment, and a note says so."""
    before: Balance
    """With the nodes cordoned and every waiting pod placed as far as possible."""
    after: Balance
    """The same after the drain."""
    new_pending: int = 0
    """Pods that wait after the drain and did not before: replacements, and pods that were preempted. None for
    one in whose place a replica of its controller has a node that waited before, except of a StatefulSet or
    DaemonSet."""
    failing_draws: int | None = None
    """In how many of eight draws of ties, and of which pod of a node goes first, a node is not emptied, a pod
    pending that was not before, or a constraint worse. Null where none are drawn: where that is so as ties go
    here, or many pods go on a large cluster."""
    worse: tuple[WorseConstraint, ...] = ()
    """DoNotSchedule constraints that are more broken than before, whatever else has got better."""
    jobs: tuple[DrainedJob, ...] = ()
    """What the evictions do to Jobs."""
    pending: tuple[PendingReason, ...] = ()
    """Why pods are left without a node."""
    spread: tuple[SpreadChange, ...] = ()
    """The constraints whose domains change."""
