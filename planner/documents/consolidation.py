"""The document of `planner consolidate`: nodes that go, nodes that are kept, and the waves between."""

from __future__ import annotations

from typing import Literal

from planner.documents.move_plan import Balance, MoveStep
from planner.documents.plan import DocumentPart, Objective, SearchDocument, SpreadChange, Status


class RemovedNode(DocumentPart):
    """A node that goes, and the wave after which it is empty; 0 when it is from the beginning."""

    node: str
    type: str
    price: float
    wave: int


class KeptNode(DocumentPart):
    """A node that is kept, why, and the pod that holds it where one does."""

    node: str
    type: str
    price: float
    reason: str
    pod: str | None = None


class NodeCost(DocumentPart):
    """What all nodes cost before and after, and what no plan costs less than; null where nothing is known."""

    before: float
    after: float
    bound: float | None


class LostDomain(DocumentPart):
    """A domain of a constraint of which no node is left."""

    key: str
    domain: str


class FrontierPoint(DocumentPart):
    """A plan with fewer moves: how many nodes go, and what those that are kept cost."""

    nodes: int
    moves: int
    cost: float


class ConsolidationPlan(SearchDocument):
    """Which nodes go, and in which waves their pods leave them.

    Costs in `objective` are in multiples of `priceUnit`.  `Optimal` when no plan leaves cheaper nodes, or the
    same cost with fewer moves.  The nodes that go are cordoned first, and so are those of
    `cordonedMeanwhile`: nodes that are kept, until all waves are over.
    """

    kind: Literal["ConsolidationPlan"] = "ConsolidationPlan"
    status: Status
    objective: tuple[Objective, ...]
    price_unit: float
    cost: NodeCost
    removed: tuple[RemovedNode, ...]
    kept: tuple[KeptNode, ...]
    cordoned_meanwhile: tuple[str, ...] = ()
    steps: tuple[MoveStep, ...]
    frontier: tuple[FrontierPoint, ...] = ()
    before: Balance
    after: Balance
    spread: tuple[SpreadChange, ...] = ()
    domains_lost: tuple[LostDomain, ...] = ()
