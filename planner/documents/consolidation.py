"""The document of `planner consolidate`: nodes that go, nodes that are kept, and the waves between."""

from __future__ import annotations

from typing import Literal

from planner.documents.move_plan import Balance, MoveStep
from planner.documents.plan import DocumentPart, Objective, SearchDocument, SpreadChange, Status


class RemovedNode(DocumentPart):
    """A node that goes, and the wave after which it is empty; 0 when it is from the beginning."""

    node: str
    """The node."""
    type: str
    """Its type: the value of the label that prices go by."""
    price: float
    """Its price."""
    wave: int
    """The wave after which it is empty; 0 when it is from the beginning."""


class AddedNode(DocumentPart):
    """A machine of the catalogue that is added before anything moves."""

    name: str
    """The name that its node has in this plan."""
    type: str
    """Its type: its name in the catalogue."""
    price: float
    """Its price."""
    zone: str
    """Its zone; empty where the cluster has none."""


class KeptNode(DocumentPart):
    """A node that is kept, why, and the pod that holds it where one does."""

    node: str
    """The node."""
    type: str
    """Its type: the value of the label that prices go by."""
    price: float
    """Its price."""
    reason: str
    """Why it is kept."""
    pod: str | None = None
    """The pod that holds it; null where none does."""


class NodeCost(DocumentPart):
    """What all nodes cost before and after, and what no plan costs less than."""

    before: float
    """Of all nodes."""
    after: float
    """Of those that are kept, and of those that are added."""
    bound: float
    """What no plan within the limits that were asked for costs less than."""


class LostDomain(DocumentPart):
    """A domain of a constraint of which no node is left."""

    key: str
    """The topology key."""
    domain: str
    """The domain."""


class FailingDraws(DocumentPart):
    """A domain of which the loss leaves more pods without a node than now, as ties go."""

    domain: str
    """The domain that is lost."""
    draws: int
    """In how many of eight draws of ties and of which pod comes first."""


class FrontierPoint(DocumentPart):
    """A plan with fewer moves: how many nodes go, and what those that are kept cost."""

    nodes: int
    """How many nodes go."""
    moves: int
    """With so many moves."""
    cost: float
    """What those that are kept cost."""


class ConsolidationPlan(SearchDocument):
    """Which nodes go, and in which waves their pods leave them."""

    kind: Literal["ConsolidationPlan"] = "ConsolidationPlan"
    status: Status
    """`Optimal` where no plan within the limits leaves cheaper nodes, or costs as much with fewer moves."""
    objective: tuple[Objective, ...]
    """`cost` (in multiples of `priceUnit`), `moves`, `pinned`, `softExcess`."""
    price_unit: float
    """The smallest decimal of the prices."""
    max_moves: int | None = None
    """The moves that --max-moves, or a Descheduler policy, allows; null without a limit."""
    survive: str | None = None
    """The topology key of which any one domain may be lost; null without --survive."""
    failing_draws: tuple[FailingDraws, ...] | None = None
    """With --survive, where nodes go: the domains whose loss leaves more pods than now without a node with
    other ties. Null where none were drawn, as on large clusters."""
    cost: NodeCost
    """What all nodes cost."""
    removed: tuple[RemovedNode, ...]
    """Nodes that go, cordoned first, in the order in which they are empty."""
    added: tuple[AddedNode, ...] = ()
    """Machines of the catalogue that are added before anything moves."""
    kept: tuple[KeptNode, ...]
    """Nodes that stay."""
    cordoned_meanwhile: tuple[str, ...] = ()
    """Nodes that are kept, and cordoned from the beginning until all waves are over."""
    steps: tuple[MoveStep, ...]
    """The moves, in the order of the waves."""
    frontier: tuple[FrontierPoint, ...] = ()
    """With --curve: plans with fewer moves; each costs less than the one before."""
    before: Balance
    """As the cluster stands."""
    after: Balance
    """With the nodes that go cordoned and empty."""
    spread: tuple[SpreadChange, ...] = ()
    """The constraints whose domains change."""
    domains_lost: tuple[LostDomain, ...] = ()
    """Domains of constraints of which no node is left."""
