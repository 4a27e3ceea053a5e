"""The document that `planner compare` prints: kube-scheduler, Descheduler and the best plan side by side."""

from __future__ import annotations

from typing import Any, Literal

from planner.documents.columns import ComparedColumn, Draw, Ending, Question
from planner.documents.figures import PriorityCount, RepairFigures, Summary
from planner.documents.plan import ConstraintPart, DocumentPart, Objective, SearchDocument, Status


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


class SpreadDifference(ConstraintPart):
    """How many more pods the domains of a constraint have, where they differ, and how much the skew."""

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
    """Every constraint, in the order of `optimal.spread`."""
    nodes_used: int
    """How many more nodes are used."""
    utilisation: tuple[UtilisationDifference, ...] = ()
    """By resource."""


class DeschedulerRun(RepairFigures):
    """What Descheduler and kube-scheduler make of the cluster."""

    seed: int | None = None
    """The seed of the run; null where equal pods and nodes go by their names."""
    ending: Ending
    """`AtRest`; `Circles`: still evicting, and pods were placed before as they are placed after a later
    round; or `Evicting`: still evicting when it was stopped."""
    preempted: int
    """Pods that kube-scheduler preempted on the way."""


class BestRepair(RepairFigures):
    """The plan of `rebalance`: its moves and waves, and whether no plan leaves less or moves fewer."""

    status: Status
    """As in the plan of `planner rebalance`."""
    objective: tuple[Objective, ...]
    """As in the plan of `planner rebalance`."""
    proved: bool
    """Whether no plan leaves less or moves fewer."""


class RepairComparison(DocumentPart):
    """The running pods: now, after Descheduler with ties by name and drawn, and after the best moves."""

    before: RepairFigures
    """The cluster as it stands."""
    descheduler: DeschedulerRun
    """What Descheduler makes of it, equal pods by their names."""
    draws: tuple[DeschedulerRun, ...]
    """The same with seeds."""
    optimal: BestRepair
    """What the plan of `planner rebalance` makes of it."""


class Comparison(SearchDocument):
    """What kube-scheduler does with the pods of a question, beside the best that can be done with them."""

    kind: Literal["Comparison"] = "Comparison"
    question: Question = "pending"
    """`pending`: where the pending pods come; `running`: what is made of the running pods, where none is
    pending; `afresh`: where all pods that a controller makes again would come from nothing."""
    columns: tuple[ComparedColumn, ...] = ()
    """All ways side by side, as they are shown: now, kube-scheduler by name and its worst, median and best
    draw, Descheduler likewise, and the optimum."""
    draws: tuple[Draw, ...] = ()
    """Every draw, by name and seed."""
    before: Summary
    """The snapshot, with no pending pod placed."""
    kube_scheduler: Reference
    """The same with the pods that kube-scheduler places, the smallest name winning ties."""
    optimal: Optimum
    """The same with the pods that the plan of `planner solve` places."""
    difference: Difference
    """`optimal` less `kubeScheduler`. Above 0 the plan has more."""
    repair: RepairComparison | None = None
    """Only where the running pods are asked about."""

    def not_asked_for(self) -> Any:
        """What the document leaves out, as pydantic takes it."""
        return {"repair"} if self.repair is None else None
