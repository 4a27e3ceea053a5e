"""The document of `planner check --survive`: what the loss of each domain would mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from planner.documents.explanation import Fix
from planner.documents.plan import Document, DocumentPart, WorkloadPart

#: Said of pods of a node that does not answer, whose controllers wait for their end.
NOT_ENDED = "not created: the pod before it stays Terminating until its node is deleted or answers"


class WorkloadLoss(WorkloadPart):
    """A workload that has pods in the lost domain."""

    replicas: int
    """Those that ran before."""
    lost: int
    """Those of them in the domain."""
    replaced: int
    """How many get another node."""
    pending: int
    """How many do not, with those that preemption evicts for others and that find no node again, those of a
    scheduler that has no profile here, and those of a StatefulSet that waits for a lower ordinal."""
    ok: bool
    """Whether it survives."""
    reason: str = ""
    """Of a Job that fails by the loss, as the job controller says it; else that its template names a node
    that is lost, so that its pods are not replaced, or that no replica elsewhere is ready, where there are
    some."""


class LostPending(WorkloadPart):
    """Pods alike that find no node when the domain is gone, why, and the least bad way out."""

    pods: int
    """How many."""
    example: str
    """The first of them."""
    message: str
    """The scheduler's line, or why the scheduler is not asked."""
    fix: Fix | None = None
    """The cheapest change, if it helps all of them, else the one that helps the most; `places` has how many.
    Null where none is known."""
    sought: bool = True
    """Whether one was looked for, as it is for the 20 kinds of pods of each loss that are the most. In
    `meanwhile` none is for workloads of which as many pods stay pending once the nodes are gone. Nor is one
    for pods that are preempted for good, or that no scheduler is asked about."""


class DomainLoss(DocumentPart):
    """One domain gone."""

    domain: str
    """The domain that is lost."""
    nodes: int
    """Its nodes."""
    pods: int
    """Its pods."""
    workloads: tuple[WorkloadLoss, ...]
    """The workloads with pods there."""
    pending: tuple[LostPending, ...] = ()
    """Pods that find no node any more."""
    meanwhile: tuple[LostPending, ...] = ()
    """The same as long as the nodes of the domain stay in the cluster, unreachable; empty where no more pods
    wait then."""
    ok: bool
    """Whether every workload survives."""
    failing_draws: int | None = None
    """In how many of eight draws of ties and of which pod comes first some pod finds no node. Null where none
    are drawn: where not every workload survives, nothing is lost, or the cluster is large."""


class Survival(Document):
    """Each domain of a key lost in turn: workloads that lose all replicas, pending pods, and what would help.

    A workload survives when a replica outside the domain keeps running and is ready, every lost one that is
    made again gets a node, and so does every one that is preempted for others.
    """

    kind: Literal["Survival"] = "Survival"
    topology_key: str
    """Whose domains are lost, one at a time."""
    domains: tuple[DomainLoss, ...]
    """The loss of each."""
    failures: int
    """Pairs of a domain and a workload that does not survive its loss."""


class SurvivalList(Document):
    """The same for several keys."""

    kind: Literal["SurvivalList"] = "SurvivalList"
    items: tuple[Survival, ...]
    """One for each key."""


def together(surveys: Sequence[Survival]) -> Survival | SurvivalList:
    """One survey as it is, several as a list with the notes of all."""
    if len(surveys) == 1:
        return surveys[0]
    notes = tuple(dict.fromkeys(note for survey in surveys for note in survey.notes))
    items = tuple(s.model_copy(update={"notes": (), "about": None}) for s in surveys)
    return SurvivalList(items=items, notes=notes, about=surveys[0].about)
