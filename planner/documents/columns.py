"""The columns of a Comparison: each way to place or move the pods, in the same figures."""

from __future__ import annotations

from typing import Literal

from planner.documents.figures import DomainCount, PriorityCount, RepairFigures, Utilisation
from planner.documents.plan import DocumentPart, Objective, Status

#: How Descheduler ended.
Ending = Literal["AtRest", "Circles", "Evicting"]

#: `pending`: where the pending pods come; `running`: what is made of the running pods, where none is pending;
#: `afresh`: where all pods that a controller makes again, and the pending ones, would come from nothing.
Question = Literal["pending", "running", "afresh"]

#: `now`: the cluster as it is.  `kubeScheduler`: after kube-scheduler placed the pods of the question.
#: `descheduler`: after Descheduler and kube-scheduler, round by round, from the cluster as it is.
#: `optimum`: the best plan that was found: of `rebalance` for the running pods, else of `solve`.
ColumnName = Literal["now", "kubeScheduler", "descheduler", "optimum"]

#: Which of the draws a column has; without one ties go to the smallest name.
Rank = Literal["worst", "median", "best"]


class ComparedColumn(DocumentPart):
    """The cluster after one way to do it, in figures. All columns have the same rows."""

    name: ColumnName
    """The way."""
    rank: Rank | None = None
    """Which of the draws; null for the run without, where ties go to the smallest name."""
    seed: int | None = None
    """The seed of the draw; `planner simulate --seed` plays the same one for kube-scheduler."""
    pods: int
    """The pods of the question: pending, running, or all that are placed afresh."""
    placed: int
    """How many of them are placed."""
    by_priority: tuple[PriorityCount, ...] = ()
    """The same by priority, the highest first."""
    pending: int
    """All pods of the cluster that have no node then; pods that no controller makes again are not there."""
    hard_violations: int
    """Domains that have more pods than a DoNotSchedule constraint allows."""
    hard_excess: int
    """The pods that are too many in them."""
    soft_excess: int
    """The same for ScheduleAnyway constraints."""
    evictions: int = 0
    """Running pods that were evicted, by Descheduler or as moves of a plan."""
    rounds: int = 0
    """Rounds of Descheduler, or waves of a plan."""
    preempted: int = 0
    """Pods that kube-scheduler evicted for others while Descheduler was at work."""
    replicas_down: int = 0
    """The most pods of one workload that one round or wave evicts: so many are away at once."""
    elsewhere: int
    """Running pods that would have to leave their node for this: pods that are alike are not told apart."""
    nodes: int
    """The nodes there are."""
    nodes_used: int
    """Those with pods on them."""
    utilisation: tuple[Utilisation, ...] = ()
    """What pods request, by resource."""
    spread: tuple[DomainCount, ...] = ()
    """Every spread constraint; all columns have the same ones in the same order."""
    ending: Ending | None = None
    """How Descheduler ended, as in a DeschedulerRun."""
    status: Status | None = None
    """Of the optimum, as in its plan."""
    objective: tuple[Objective, ...] = ()
    """The stages of the optimum with their bounds, the most important first."""
    proved: bool | None = None
    """Whether no plan is better in any stage; only the optimum has it."""


class Draw(RepairFigures):
    """One run with draws, of kube-scheduler or Descheduler: for the distribution of its figures."""

    name: Literal["kubeScheduler", "descheduler"]
    """Whose run it is."""
    seed: int
    """The seed."""
    placed: int
    """How many pods of the question are placed."""
    ending: Ending | None = None
    """How Descheduler ended, as in a DeschedulerRun."""
