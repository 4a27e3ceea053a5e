"""The document of `rebalance`: moves in waves."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.documents.plan import Document, Objective, Part, SpreadChange, Verdicts


class Balance(Part):
    """How far a cluster is from what its spread constraints ask for."""

    hard_violations: int
    hard_excess: int
    soft_excess: int
    pending: int


class Pin(Part):
    """What lets a pod run on one node only: a nodeSelector, or node affinity by matchFields."""

    node_selector: dict[str, str]
    match_fields: dict[str, str]


class MoveStep(Part):
    """A pod that is evicted, and the node that its replacement lands on.

    `natural` when kube-scheduler takes that node by itself, whatever the tie-break; `pinned` when the
    replacement needs the pod spec fields in `pin` to get there.  `owner` is what makes the replacement.
    """

    action: Literal["move"] = "move"
    wave: int
    pod: str
    workload: str
    owner: str
    source: str = Field(alias="from")
    node: str
    landing: Literal["natural", "pinned"]
    pin: Pin | None = None
    why: str


class CurvePoint(Part):
    """The least that hard constraints have too much after so many moves, and whether no plan has less."""

    moves: int
    hard_excess: int
    proved: bool


class MovePlan(Document):
    """Which pods to move, in which order, so that the spread is as it should be.

    `Optimal` when no plan leaves less too much, or does it with fewer or lighter moves.
    """

    kind: Literal["MovePlan"] = "MovePlan"
    status: Literal["Optimal", "Feasible"]
    objective: tuple[Objective, ...]
    steps: tuple[MoveStep, ...]
    before: Balance
    after: Balance
    spread: tuple[SpreadChange, ...] = ()
    stays: dict[str, int] = Field(default_factory=dict)
    curve: tuple[CurvePoint, ...] = ()
    verdicts: Verdicts
