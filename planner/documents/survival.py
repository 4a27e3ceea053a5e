"""The document of `planner check --survive`: what the loss of each domain would mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from planner.documents.explanation import Fix
from planner.documents.plan import Document, DocumentPart


class WorkloadLoss(DocumentPart):
    """A workload that has pods in the lost domain: `replicas` ran before, `lost` of them there.

    `replaced` is how many get another node, `pending` how many do not.
    """

    namespace: str
    workload: str
    replicas: int
    lost: int
    replaced: int
    pending: int
    ok: bool


class LostPending(DocumentPart):
    """Pods alike that find no node when the domain is gone, why, and the least bad way out."""

    namespace: str
    workload: str
    pods: int
    example: str
    message: str
    fix: Fix | None = None


class DomainLoss(DocumentPart):
    """One domain gone.

    `meanwhile` are the pods that find no node while the domain's nodes are there, unreachable, where
    that is more.
    """

    domain: str
    nodes: int
    pods: int
    workloads: tuple[WorkloadLoss, ...]
    pending: tuple[LostPending, ...] = ()
    meanwhile: tuple[LostPending, ...] = ()
    ok: bool


class Survival(Document):
    """Each domain of a key lost in turn: workloads that lose all replicas, pending pods, and what would help.

    A workload survives when a replica outside the domain keeps running and every lost one that is made
    again gets a node.
    """

    kind: Literal["Survival"] = "Survival"
    topology_key: str
    domains: tuple[DomainLoss, ...]
    failures: int


class SurvivalList(Document):
    """The same for several keys."""

    kind: Literal["SurvivalList"] = "SurvivalList"
    items: tuple[Survival, ...]


def together(surveys: Sequence[Survival]) -> Survival | SurvivalList:
    """One survey as it is, several as a list with the notes of all."""
    if len(surveys) == 1:
        return surveys[0]
    notes = tuple(dict.fromkeys(note for survey in surveys for note in survey.notes))
    return SurvivalList(items=tuple(s.model_copy(update={"notes": ()}) for s in surveys), notes=notes)
