"""kube-scheduler, Descheduler and the best plan beside the cluster as it is: the same pods, the same figures.

kube-scheduler and `solve` leave running pods where they are, so the two are compared without preemption.
Descheduler evicts pods, and between its rounds kube-scheduler preempts where it is on; beside it stands
`rebalance`.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from models import Cluster
from models.errors import InputError
from models.words import counted
from planner.audit.summary import by_priority, summary
from planner.batch.solve import solve_from
from planner.compare.columns import ClusterFigures, repair
from planner.compare.ways import Outcome, Runs, by_descheduler, by_kube_scheduler, by_rebalance, by_solve
from planner.documents.columns import ColumnName, ComparedColumn, Question, Rank
from planner.documents.comparison import (
    Comparison,
    Difference,
    Optimum,
    PriorityDifference,
    Reference,
    Replay,
    Replays,
    SpreadDifference,
    UtilisationDifference,
)
from planner.documents.figures import DomainCount, Summary, Utilisation
from planner.documents.plan import SearchDocument
from planner.eviction.controllers import DEVICES, EPHEMERAL, Controllers
from planner.eviction.protections import unmodelled
from planner.eviction.replacements import OTHER_AFFINITY, RESIZED
from planner.problem.problem import Problem
from planner.proof.clock import Clock, Progress
from planner.proof.effort import DRAWS_SHARE
from planner.rebalance.plan import rebalance
from planner.scheduler.remarks import remarks
from planner.whatif.pods import afresh as all_pending

#: The columns that mean something for a question; others are there when they are asked for.
_SHOWN: dict[Question, frozenset[ColumnName]] = {
    "pending": frozenset(("now", "kubeScheduler", "optimum")),
    "running": frozenset(("now", "descheduler", "optimum")),
    "afresh": frozenset(("now", "kubeScheduler", "optimum")),
}
#: The columns that can be asked for.
COLUMNS: tuple[ColumnName, ...] = ("now", "kubeScheduler", "descheduler", "optimum")


def compare(
    cluster: Cluster,
    *,
    replays: int = 5,
    time_limit: float = 30.0,
    afresh: bool = False,
    columns: Collection[ColumnName] = (),
    progress: Progress | None = None,
    stop_event: threading.Event | None = None,
) -> Comparison:
    """What kube-scheduler does with the pending pods, beside the best plan that is found for them.

    Without pending pods: what Descheduler does with the running ones, beside the plan of `rebalance`.
    With `afresh` all pods that a controller makes again are taken as pending, and compared with today.
    Each of them runs once with ties going by the name, and `replays` times with draws: kube-scheduler with
    nodes sampled and ties drawn, Descheduler in other orders.
    `columns` are those to show besides the ones that the question shows: `kubeScheduler`, `descheduler`.
    `time_limit` is for all together; two runs of each kind are there in any case.  `progress` is told about
    pods: those that were scheduled in all runs, then those that the plan places so far.  When `stop_event` is
    set, there are no further replays, and the best plan so far is compared.
    """
    if replays < 1:
        raise InputError([f"replays: at least 1 is needed, not {replays}"])
    if unknown := sorted({*columns} - {*COLUMNS}):
        raise InputError([f"columns: no {', '.join(unknown)}; there are {', '.join(COLUMNS)}"])
    limit = _Limit(time_limit, stop_event)
    problem = today = Problem(cluster)
    if afresh:
        problem = Problem(all_pending(today))
    runs = Runs(problem, replays, limit.draws, progress)
    question: Question = "afresh" if afresh else "pending" if runs.queue else "running"
    asked = _Asked(question, problem, today, runs)
    outcomes = by_kube_scheduler(runs.by_name, runs.drawn)
    shown = _SHOWN[question] | {*columns}
    if "descheduler" in shown:
        outcomes += by_descheduler(today, replays, limit.draws)
    best, search = _best(asked, limit, progress)
    return _document(asked, [*outcomes, best], shown, search)


class _Limit:
    """The time for all parts together: draws have a share of it, and the search what is left."""

    def __init__(self, seconds: float, stop_event: threading.Event | None) -> None:
        self._ends = time.monotonic() + seconds
        self.stop_event = stop_event
        self.draws = Clock(seconds * DRAWS_SHARE, stop_event)

    def left(self) -> float:
        return max(0.0, self._ends - time.monotonic())


@dataclass(frozen=True)
class _Asked:
    """A question: its pods are pending in `problem`, or run in it; `today` has them where they are."""

    question: Question
    problem: Problem
    today: Problem
    runs: Runs

    @cached_property
    def figures(self) -> ClusterFigures:
        """The figures of its pods."""
        return ClusterFigures(self.problem, self.pods, self.today.node_of)

    def summary(self, outcome: Outcome) -> Summary:
        """What comes of the pods that wait, or that are placed afresh."""
        return summary(self.problem, self.runs.queue, outcome.node_of)

    @property
    def pods(self) -> Sequence[int]:
        """Those that are placed; of the running pods all that do not end."""
        if self.question != "running":
            return self.runs.queue
        placed = np.flatnonzero(self.problem.node_of >= 0).tolist()
        return [pod for pod in placed if not self.problem.pods[pod].is_terminating]


def _best(asked: _Asked, limit: _Limit, progress: Progress | None) -> tuple[Outcome, SearchDocument]:
    """The best plan for the pods of the question, and the document of the search."""
    if asked.question == "running":
        moves = rebalance(
            asked.problem.cluster, time_limit=limit.left(), stop_event=limit.stop_event, explain=False
        )
        return by_rebalance(asked.problem, moves), moves
    known = [*asked.runs.steps()]
    binds = solve_from(
        asked.problem, known, time_limit=limit.left(), watch=progress, stop_event=limit.stop_event
    )
    return by_solve(asked.problem, binds), binds


def _document(
    asked: _Asked, outcomes: Sequence[Outcome], shown: frozenset[ColumnName], search: SearchDocument
) -> Comparison:
    """The columns that are shown, and the summaries of kube-scheduler and of the best plan."""
    figures, problem = asked.figures, asked.problem
    best, now = outcomes[-1], Outcome("now", asked.today.node_of)
    kube = [outcome for outcome in outcomes if outcome.name == "kubeScheduler"]
    runs = [outcome for outcome in outcomes if outcome.name == "descheduler"]
    draws = {name: figures.draws(several) for name, several in (("kube", kube), ("descheduler", runs))}
    columns: list[ComparedColumn] = [figures.column(now)]
    for several, drawn in ((kube, draws["kube"]), (runs, draws["descheduler"])):
        if several and several[0].name in shown:
            columns.append(figures.column(several[0]))
            columns += [figures.column(outcome, rank) for rank, outcome in figures.ranked(several, drawn)]
    columns.append(figures.column(best))
    is_repair = asked.question == "running"
    before = asked.summary(now)
    theirs = before if is_repair else asked.summary(kube[0])
    ours = before if is_repair else asked.summary(best)
    reference = Reference(**dict(theirs), replays=_replays(asked, figures.ranked(kube, draws["kube"]), kube))
    optimum = Optimum(
        **dict(ours),
        status="Optimal" if is_repair or best.plan is None else best.plan.status,
        objective=() if is_repair or best.plan is None else best.plan.objective,
    )
    return Comparison(
        question=asked.question,
        columns=tuple(columns),
        draws=(*(draws["kube"] if "kubeScheduler" in shown else ()), *draws["descheduler"]),
        before=before,
        kube_scheduler=reference,
        optimal=optimum,
        difference=difference(reference, optimum),
        repair=repair(figures, now, runs, best) if is_repair else None,
        cut=search.cut,
        kubernetes=problem.kubernetes.document,
        notes=tuple(dict.fromkeys(_notes(asked, search, bool(runs)))),
    )


def _replays(asked: _Asked, ranked: Iterator[tuple[Rank, Outcome]], kube: Sequence[Outcome]) -> Replays:
    """The worst, the median and the best of kube-scheduler's draws, in short."""
    found: dict[str, Replay] = {}
    for rank, outcome in ranked:
        counts = by_priority(asked.problem, asked.runs.queue, outcome.node_of)
        placed = sum(count.placed for count in counts)
        found[rank] = Replay(seed=outcome.seed or 0, placed=placed, by_priority=counts)
    return Replays(runs=len(kube) - 1, **found)


def _notes(asked: _Asked, search: SearchDocument, with_descheduler: bool) -> Iterator[str]:
    """Those of the cluster and of the search, and how far the draws differ."""
    problem = asked.problem
    if asked.question == "running":
        yield from (*problem.cluster.notes, *problem.notes, *problem.unproved)
        # That it was cut short is the last note of a search.
        yield from search.notes[-1:] if search.cut else ()
    else:
        yield from search.notes
    yield from remarks(problem)
    yield from asked.runs.notes()
    if with_descheduler:
        yield from unmodelled(problem.cluster.descheduler_policy)
        yield from _replaced_as_they_were(problem)


def _replaced_as_they_were(problem: Problem) -> Iterator[str]:
    """Notes about pods whose replacements are other ones; Descheduler's column makes them again unchanged."""
    controllers = Controllers(problem, jobs=True)
    reasons = Counter(map(controllers.why_not, np.flatnonzero(problem.node_of >= 0).tolist()))
    for reason in (DEVICES, EPHEMERAL, OTHER_AFFINITY, RESIZED):
        if pods := reasons[reason]:
            yield (
                f"{counted(pods, 'running pod')} {reason}: "
                "where Descheduler evicts such a pod, it is made again as it was"
            )


def difference(reference: Summary, best: Summary) -> Difference:
    """Both summaries are of the same problem, so their rows are in the same order."""
    return Difference(
        placed=best.placed - reference.placed,
        by_priority=tuple(
            PriorityDifference(priority=ours.priority, placed=ours.placed - theirs.placed)
            for ours, theirs in zip(best.by_priority, reference.by_priority, strict=True)
        ),
        spread=tuple(
            _of_spread(ours, theirs) for ours, theirs in zip(best.spread, reference.spread, strict=True)
        ),
        nodes_used=best.nodes_used - reference.nodes_used,
        utilisation=tuple(
            _of_use(ours, theirs)
            for ours, theirs in zip(best.utilisation, reference.utilisation, strict=True)
        ),
    )


def _of_spread(ours: DomainCount, theirs: DomainCount) -> SpreadDifference:
    return SpreadDifference(
        namespace=ours.namespace,
        workload=ours.workload,
        topology_key=ours.topology_key,
        selector=ours.selector,
        domains={
            domain: pods - theirs.domains[domain]
            for domain, pods in ours.domains.items()
            if pods != theirs.domains[domain]
        },
        skew=ours.skew - theirs.skew,
    )


def _of_use(ours: Utilisation, theirs: Utilisation) -> UtilisationDifference:
    return UtilisationDifference(
        resource=ours.resource,
        mean_percent=round(ours.mean_percent - theirs.mean_percent, 1),
        fullest_percent=round(ours.fullest_percent - theirs.fullest_percent, 1),
    )
