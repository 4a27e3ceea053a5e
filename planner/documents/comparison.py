"""The document that `planner compare` prints: kube-scheduler beside the best plan."""

from __future__ import annotations

from typing import Any, Literal

from planner.documents.plan import DocumentPart, Objective, SearchDocument, Status


class PriorityCount(DocumentPart):
    """How many of the pending pods of one priority are placed."""

    priority: int
    pods: int
    placed: int


class DomainPods(DocumentPart):
    """One topology spread constraint, and its pods per domain."""

    namespace: str
    workload: str
    topology_key: str
    when_unsatisfiable: str
    max_skew: int
    selector: str = ""
    domains: dict[str, int]
    skew: int


class Utilisation(DocumentPart):
    """What pods request of a resource, of all that nodes have, and on the node where it is the most."""

    resource: str
    mean_percent: float
    fullest_percent: float
    fullest_node: str


class Summary(DocumentPart):
    """A placement in figures: the pending pods, and the cluster with those of them that were placed."""

    pods: int
    placed: int
    by_priority: tuple[PriorityCount, ...] = ()
    unplaced: tuple[str, ...] = ()
    spread: tuple[DomainPods, ...] = ()
    nodes: int
    nodes_used: int
    utilisation: tuple[Utilisation, ...] = ()


class Replay(DocumentPart):
    """One run of the scheduler with ties drawn from this seed."""

    seed: int
    placed: int
    by_priority: tuple[PriorityCount, ...] = ()


class Replays(DocumentPart):
    """The worst, the median and the best of so many runs, the highest priority first."""

    runs: int
    worst: Replay
    median: Replay
    best: Replay


class Reference(Summary):
    """What the scheduler does when ties go to the smallest name, and how lucky it can be with them."""

    replays: Replays


class Optimum(Summary):
    """What the best plan does, and how good it is known to be."""

    status: Status
    objective: tuple[Objective, ...]


class PriorityDifference(DocumentPart):
    """How many more pods of one priority are placed."""

    priority: int
    placed: int


class SpreadDifference(DocumentPart):
    """How many more pods the domains of a constraint have, where they differ, and how much the skew."""

    namespace: str
    workload: str
    topology_key: str
    selector: str = ""
    domains: dict[str, int]
    skew: int


class UtilisationDifference(DocumentPart):
    """By how many percentage points more of a resource is requested."""

    resource: str
    mean_percent: float
    fullest_percent: float


class Difference(DocumentPart):
    """The best plan less kube-scheduler, figure by figure."""

    placed: int
    by_priority: tuple[PriorityDifference, ...] = ()
    spread: tuple[SpreadDifference, ...] = ()
    nodes_used: int
    utilisation: tuple[UtilisationDifference, ...] = ()


class Repair(DocumentPart):
    """Running pods that were evicted, in so many rounds or waves, and what is wrong with the cluster then."""

    evictions: int
    rounds: int
    hard_violations: int
    hard_excess: int
    pending: int


class DeschedulerRun(Repair):
    """What Descheduler and kube-scheduler make of the cluster; without a seed ties go by the name.

    `ending`: `AtRest`, `Circles` (still evicting, and pods were placed before as they are placed after a
    later round) or `Evicting` (still evicting when it was stopped).
    """

    seed: int | None = None
    ending: Literal["AtRest", "Circles", "Evicting"]
    preempted: int


class BestRepair(Repair):
    """The plan of `rebalance`: its moves and waves, and whether no plan leaves less or moves fewer."""

    status: Status
    objective: tuple[Objective, ...]
    proved: bool


class RepairComparison(DocumentPart):
    """The running pods: now, after Descheduler with ties by name and drawn, and after the best moves."""

    before: Repair
    descheduler: DeschedulerRun
    draws: tuple[DeschedulerRun, ...]
    optimal: BestRepair


class Comparison(SearchDocument):
    """What kube-scheduler does with the pending pods, beside the best that can be done with them."""

    kind: Literal["Comparison"] = "Comparison"
    before: Summary
    kube_scheduler: Reference
    optimal: Optimum
    difference: Difference
    repair: RepairComparison | None = None
    """Only where no pod is pending."""

    def _not_asked_for(self) -> Any:
        return {"repair"} if self.repair is None else None
