"""The document of `planner drain`: nodes in waves, where each evicted pod lands, and what is in the way."""

from __future__ import annotations

from typing import Literal

from planner.documents.explanation import Fix
from planner.documents.move_plan import Balance
from planner.documents.plan import Document, DocumentPart, PendingReason, SpreadChange


class DrainEviction(DocumentPart):
    """A pod that is evicted, and where its replacement lands when ties go to the smallest name.

    None where it stays pending, or where nothing makes it again.
    """

    pod: str
    lands: str | None


class DrainStep(DocumentPart):
    """A node that is drained, the wave in which it was last asked, and the evictions in their order."""

    wave: int
    node: str
    evictions: tuple[DrainEviction, ...]


Reason = Literal["Budget", "NoController", "NodeNotReady", "Finalizer", "Terminating"]


class BlockedNode(DocumentPart):
    """A node that is not empty in the end: a pod that stays, why it does, and what frees the node.

    Of `Budget` the message is the eviction API's, of `NoController` that of kubectl drain without --force.
    Else the pod is evicted, or was before, and does not end.
    """

    node: str
    pod: str
    message: str
    reason: Reason = "Budget"
    fixes: tuple[Fix, ...] = ()


class DrainedJob(DocumentPart):
    """What the evictions of a drain do to a Job; the retries left are those after them.

    They are None where evictions are ignored.  Of a Job that counts retries by index they are those of the
    index that has the fewest left.
    """

    namespace: str
    job: str
    evictions: int
    outcome: Literal["KeepsRunning", "LosesRetries", "Fails"]
    reason: str = ""
    retries: int | None = None
    retries_left: int | None = None


class DrainPlan(Document):
    """In which order nodes are drained, and what that leads to."""

    kind: Literal["DrainPlan"] = "DrainPlan"
    nodes: tuple[str, ...]
    surge: tuple[str, ...] = ()
    steps: tuple[DrainStep, ...]
    blocked: tuple[BlockedNode, ...] = ()
    played_to_end: bool = True
    """False where pods evict each other in turn, so that it was given up at some moment."""
    before: Balance
    after: Balance
    jobs: tuple[DrainedJob, ...] = ()
    pending: tuple[PendingReason, ...] = ()
    spread: tuple[SpreadChange, ...] = ()
