"""The document of `rebalance`: moves in waves."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.documents.plan import DocumentPart, Objective, SearchDocument, SpreadChange, Status, Verdicts


class Balance(DocumentPart):
    """How far a cluster is from what its spread constraints ask for."""

    hard_violations: int
    hard_excess: int
    soft_excess: int
    pending: int


class OnNodes(DocumentPart):
    """Nodes by their names."""

    nodes: tuple[str, ...]


class WithLabels(DocumentPart):
    """The nodes that have one of these values under every key, as far as the pod's own rules allow them."""

    labels: dict[str, tuple[str, ...]]


Place = OnNodes | WithLabels


class MoveStep(DocumentPart):
    """A pod that is evicted, and the nodes that its replacement may land on: one is as good as another.

    `landing` says what holds it to them: `filters` when the scheduler's filters leave no other node,
    whatever the scores, ties or sampling; `scores` when no other node has the highest score; `pinned`
    when the replacement has to be restricted to `pin`; `cordoned` when the nodes of `cordon` have to be
    cordoned from before the eviction until it has landed.  `node` is where it lands if the smallest name
    wins, `lands` the whole set.  `owner` is what makes the replacement.
    """

    action: Literal["move"] = "move"
    wave: int
    pod: str
    workload: str
    owner: str
    source: str = Field(alias="from")
    node: str
    landing: Literal["filters", "scores", "pinned", "cordoned"]
    lands: Place
    pin: Place | None = None
    cordon: tuple[str, ...] = ()
    why: str


class CurvePoint(DocumentPart):
    """The least that hard constraints have too much after so many moves, and whether no plan has less."""

    moves: int
    hard_excess: int
    proved: bool


class MovePlan(SearchDocument):
    """Which pods to move, in which order, so that the spread is as it should be.

    `Optimal` when no plan leaves less too much, or does it with fewer or lighter moves.
    """

    api_version: Literal["planner/v1alpha2"] = "planner/v1alpha2"  # type: ignore[assignment] # a field changed
    kind: Literal["MovePlan"] = "MovePlan"
    status: Status
    objective: tuple[Objective, ...]
    steps: tuple[MoveStep, ...]
    before: Balance
    after: Balance
    spread: tuple[SpreadChange, ...] = ()
    stays: dict[str, int] = Field(default_factory=dict)
    curve: tuple[CurvePoint, ...] = ()
    verdicts: Verdicts
