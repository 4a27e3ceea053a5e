"""A cluster in figures, as `planner compare` sets one beside another."""

from __future__ import annotations

from pydantic import Field

from planner.documents.plan import ConstraintTerms, DocumentPart


class PriorityCount(DocumentPart):
    """How many of the pending pods of one priority are placed."""

    priority: int
    """The priority."""
    pods: int
    """The pending pods that have it."""
    placed: int
    """How many of them are placed."""


class DomainCount(ConstraintTerms):
    """One topology spread constraint, and its pods per domain."""

    selector: str = ""
    """The pods that are counted, in kubectl's notation."""
    domains: dict[str, int]
    """By domain, matching pods."""
    skew: int
    """The fullest domain less the global minimum."""
    excess: dict[str, int] = Field(default_factory=dict)
    """By domain that has more pods than maxSkew allows, how many more."""


class Utilisation(DocumentPart):
    """What pods request of a resource, of all that nodes have, and on the node where it is the most."""

    resource: str
    """A resource that some pod requests."""
    mean_percent: float
    """What is requested, of all that nodes have."""
    fullest_percent: float
    """The same on the node where it is the most."""
    fullest_node: str
    """That node."""


class Summary(DocumentPart):
    """A placement in figures: the pending pods, and the cluster with those of them that were placed."""

    pods: int
    """The pending pods."""
    placed: int
    """How many of them are placed."""
    by_priority: tuple[PriorityCount, ...] = ()
    """The same by priority, the highest first."""
    unplaced: tuple[str, ...] = ()
    """The pending pods that are not placed, in the order of the queue."""
    spread: tuple[DomainCount, ...] = ()
    """Every spread constraint."""
    nodes: int
    """The nodes there are."""
    nodes_used: int
    """Those with pods on them."""
    utilisation: tuple[Utilisation, ...] = ()
    """What pods request, by resource."""


class RepairFigures(DocumentPart):
    """Running pods that were evicted, in so many rounds or waves, and what is wrong with the cluster then."""

    evictions: int
    """Running pods that were evicted."""
    rounds: int
    """Rounds of Descheduler, or waves of the plan."""
    hard_violations: int
    """Broken pairs of a DoNotSchedule constraint and a domain, in the end."""
    hard_excess: int
    """Pods too many over DoNotSchedule constraints and domains, in the end."""
    soft_excess: int = 0
    """The same over ScheduleAnyway constraints."""
    pending: int
    """Pods without a node in the end."""
