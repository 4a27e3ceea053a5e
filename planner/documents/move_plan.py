"""The document of `rebalance`: moves in waves."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.documents.plan import DocumentPart, Objective, SearchDocument, SpreadChange, Status, Verdicts


class Balance(DocumentPart):
    """How far a cluster is from what its spread constraints ask for."""

    hard_violations: int
    """Broken pairs of a DoNotSchedule constraint and a domain."""
    hard_excess: int
    """Pods too many over DoNotSchedule constraints and domains."""
    soft_excess: int
    """The same over ScheduleAnyway constraints."""
    pending: int
    """Pods without a node."""


class OnNodes(DocumentPart):
    """Nodes by their names."""

    nodes: tuple[str, ...]
    """Their names."""


class WithLabels(DocumentPart):
    """The nodes that have one of these values under every key, as far as the pod's own rules allow them."""

    labels: dict[str, tuple[str, ...]]
    """By key, the values."""


Place = OnNodes | WithLabels


class MoveStep(DocumentPart):
    """A pod that is evicted, and the nodes that its replacement may land on: one is as good as another."""

    action: Literal["move"] = "move"
    """Always `move`."""
    wave: int
    """Moves of a wave may be under way together; the next wave begins when all have landed."""
    pod: str
    """The pod that is evicted."""
    workload: str
    """Its workload."""
    owner: str
    """What makes its replacement."""
    source: str = Field(alias="from")
    """Where it runs."""
    node: str
    """Where the replacement lands if the smallest name wins."""
    landing: Literal["filters", "scores", "pinned", "cordoned"]
    """What holds the replacement to the nodes of `lands`: `filters` when the scheduler's filters leave no
    other, `scores` when no other has the highest score, `pinned` when it has to be restricted to `pin`,
    `cordoned` when the nodes of `cordon` have to be cordoned meanwhile."""
    lands: Place
    """All nodes where it may land, one as good as another."""
    pin: Place | None = None
    """The restriction of a pinned landing; else null."""
    cordon: tuple[str, ...] = ()
    """The nodes that are cordoned from before the eviction until the replacement has landed: the same for all
    moves of a wave that name any."""
    why: str
    """What the move is for."""


class CurvePoint(DocumentPart):
    """The least that hard constraints have too much after so many moves, and whether no plan has less."""

    moves: int
    """So many moves."""
    hard_excess: int
    """The least that is left too much after them."""
    proved: bool
    """Whether no plan leaves less."""


class MovePlan(SearchDocument):
    """Which pods to move, in which order, so that the spread is as it should be."""

    api_version: Literal["planner/v1alpha2"] = "planner/v1alpha2"  # type: ignore[assignment] # a field changed
    kind: Literal["MovePlan"] = "MovePlan"
    status: Status
    """`Optimal` when hard excess, moves and disruption are proved, else `Feasible`; conditional only where
    pods move of which it is undecided for some node whether it accepts them."""
    objective: tuple[Objective, ...]
    """The stages, the most important first: `hardExcess`, `moves`, `pinned` (cordoned ones count as well),
    `disruption` (the weights of the pods moved: 1 for the lowest priority and deletion cost among the
    movable, one more for each higher one), `softExcess`."""
    steps: tuple[MoveStep, ...]
    """The moves, in the order of the waves."""
    before: Balance
    """As the cluster stands."""
    after: Balance
    """After all moves; which of it holds wherever replacements land is in
    [promises.md](promises.md#what-rebalance-promises)."""
    spread: tuple[SpreadChange, ...] = ()
    """The constraints whose domains change."""
    stays: dict[str, int] = Field(default_factory=dict)
    """Where constraints stay broken: how many of their pods may not be moved, by reason."""
    curve: tuple[CurvePoint, ...] = ()
    """With --curve: the least hard excess by number of moves."""
    verdicts: Verdicts
    """What holds on the way and at the end."""
