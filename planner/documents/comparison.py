"""The document that `planner compare` prints: kube-scheduler beside the best plan."""

from __future__ import annotations

from typing import Any, Literal

from planner.documents.plan import DocumentPart, Objective, SearchDocument, Status


class PriorityCount(DocumentPart):
    """How many of the pending pods of one priority are placed."""

    priority: int
    """The priority."""
    pods: int
    """The pending pods that have it."""
    placed: int
    """How many of them are placed."""


class DomainPods(DocumentPart):
    """One topology spread constraint, and its pods per domain."""

    namespace: str
    """The namespace of the workload."""
    workload: str
    """Whose constraint it is."""
    topology_key: str
    """As in the manifest."""
    when_unsatisfiable: str
    """As in the manifest."""
    max_skew: int
    """As in the manifest."""
    selector: str = ""
    """The pods that are counted, in kubectl's notation."""
    domains: dict[str, int]
    """By domain, matching pods."""
    skew: int
    """The fullest domain less the global minimum."""


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
    spread: tuple[DomainPods, ...] = ()
    """Every spread constraint."""
    nodes: int
    """The nodes there are."""
    nodes_used: int
    """Those with pods on them."""
    utilisation: tuple[Utilisation, ...] = ()
    """What pods request, by resource."""


class Replay(DocumentPart):
    """One run of the scheduler with ties drawn from this seed."""

    seed: int
    """The seed of the run."""
    placed: int
    """How many pods are placed."""
    by_priority: tuple[PriorityCount, ...] = ()
    """The same by priority, the highest first."""


class Replays(DocumentPart):
    """The worst, the median and the best of so many runs, the highest priority first."""

    runs: int
    """How many runs there were with ties drawn."""
    worst: Replay
    """The run that places the fewest, the highest priority first."""
    median: Replay
    """The one in the middle."""
    best: Replay
    """The one that places the most."""


class Reference(Summary):
    """What the scheduler does when ties go to the smallest name, and how lucky it can be with them."""

    replays: Replays
    """The same with ties drawn."""


class Optimum(Summary):
    """What the best plan does, and how good it is known to be."""

    status: Status
    """As in the plan of `planner solve`."""
    objective: tuple[Objective, ...]
    """As in the plan of `planner solve`."""


class PriorityDifference(DocumentPart):
    """How many more pods of one priority are placed."""

    priority: int
    """The priority."""
    placed: int
    """How many more are placed."""


class SpreadDifference(DocumentPart):
    """How many more pods the domains of a constraint have, where they differ, and how much the skew."""

    namespace: str
    """The namespace of the workload."""
    workload: str
    """Whose constraint it is."""
    topology_key: str
    """As in the manifest."""
    selector: str = ""
    """The pods that are counted, in kubectl's notation."""
    domains: dict[str, int]
    """By domain, how many pods more; only those that differ."""
    skew: int
    """How much more the skew is."""


class UtilisationDifference(DocumentPart):
    """By how many percentage points more of a resource is requested."""

    resource: str
    """The resource."""
    mean_percent: float
    """In points."""
    fullest_percent: float
    """In points."""


class Difference(DocumentPart):
    """The best plan less kube-scheduler, figure by figure."""

    placed: int
    """How many more pods are placed."""
    by_priority: tuple[PriorityDifference, ...] = ()
    """The same by priority."""
    spread: tuple[SpreadDifference, ...] = ()
    """Constraints whose domains differ."""
    nodes_used: int
    """How many more nodes are used."""
    utilisation: tuple[UtilisationDifference, ...] = ()
    """By resource."""


class Repair(DocumentPart):
    """Running pods that were evicted, in so many rounds or waves, and what is wrong with the cluster then."""

    evictions: int
    """Running pods that were evicted."""
    rounds: int
    """Rounds of Descheduler, or waves of the plan."""
    hard_violations: int
    """Broken pairs of a DoNotSchedule constraint and a domain, in the end."""
    hard_excess: int
    """Pods too many over DoNotSchedule constraints and domains, in the end."""
    pending: int
    """Pods without a node in the end."""


class DeschedulerRun(Repair):
    """What Descheduler and kube-scheduler make of the cluster."""

    seed: int | None = None
    """The seed of the run; null where equal pods and nodes go by their names."""
    ending: Literal["AtRest", "Circles", "Evicting"]
    """`AtRest`; `Circles`: still evicting, and pods were placed before as they are placed after a later
    round; or `Evicting`: still evicting when it was stopped."""
    preempted: int
    """Pods that kube-scheduler preempted on the way."""


class BestRepair(Repair):
    """The plan of `rebalance`: its moves and waves, and whether no plan leaves less or moves fewer."""

    status: Status
    """As in the plan of `planner rebalance`."""
    objective: tuple[Objective, ...]
    """As in the plan of `planner rebalance`."""
    proved: bool
    """Whether no plan leaves less or moves fewer."""


class RepairComparison(DocumentPart):
    """The running pods: now, after Descheduler with ties by name and drawn, and after the best moves."""

    before: Repair
    """The cluster as it stands."""
    descheduler: DeschedulerRun
    """What Descheduler makes of it, equal pods by their names."""
    draws: tuple[DeschedulerRun, ...]
    """The same with seeds."""
    optimal: BestRepair
    """What the plan of `planner rebalance` makes of it."""


class Comparison(SearchDocument):
    """What kube-scheduler does with the pending pods, beside the best that can be done with them."""

    kind: Literal["Comparison"] = "Comparison"
    before: Summary
    """The snapshot, with no pending pod placed."""
    kube_scheduler: Reference
    """The same with the pods that kube-scheduler places, the smallest name winning ties."""
    optimal: Optimum
    """The same with the pods that the plan of `planner solve` places."""
    difference: Difference
    """`optimal` less `kubeScheduler`. Above 0 the plan has more."""
    repair: RepairComparison | None = None
    """Only where no pod is pending: what is done about running pods."""

    def _not_asked_for(self) -> Any:
        return {"repair"} if self.repair is None else None
