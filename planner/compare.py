"""kube-scheduler beside the best plan: the same batch, the same figures.

Neither side evicts pods: `solve` leaves running pods where they are, so the scheduler is compared
without preemption.  Where no pod is pending the running pods are compared as well: what Descheduler and
kube-scheduler make of them round by round, with preemption where it is on, and what `rebalance` does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from models import Cluster
from planner.audit.findings import audit
from planner.audit.summary import summary
from planner.audit.tie_runs import Progress, Runs
from planner.clock import is_stop_requested
from planner.descheduler import Ending, descheduled
from planner.documents.comparison import (
    BestRepair,
    Comparison,
    DeschedulerRun,
    Difference,
    DomainPods,
    Optimum,
    PriorityDifference,
    Reference,
    Repair,
    RepairComparison,
    SpreadDifference,
    Summary,
    Utilisation,
    UtilisationDifference,
)
from planner.documents.plan import PlacementPlan
from planner.errors import InputError
from planner.eviction.protections import HARD, protections_of, unmodelled
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.rebalance import rebalance
from planner.simulate import remarks
from planner.solve import solve

_ENDINGS: dict[Ending, Literal["AtRest", "Circles", "Evicting"]] = {
    Ending.AT_REST: "AtRest",
    Ending.CIRCLES: "Circles",
    Ending.EVICTING: "Evicting",
}


def compare(
    cluster: Cluster,
    *,
    replays: int = 5,
    time_limit: float = 30.0,
    progress: Progress | None = None,
    stop_event: threading.Event | None = None,
) -> Comparison:
    """What kube-scheduler does with the pending pods, beside the best plan that `solve` finds.

    The scheduler runs once with all nodes scored and ties going to the smallest name, and `replays`
    times as the program does: nodes are sampled, and ties drawn.
    Without pending pods `repair` has what Descheduler does with the running ones, by name and in as many
    draws, and the plan of `rebalance`.
    `time_limit` is for the search for the plan.  `progress` is told about pods: those that
    were scheduled in all runs, then those that the plan places so far.  When `stop_event` is set, there are
    no further replays, and the best plan so far is compared.
    """
    if replays < 1:
        raise InputError([f"replays: at least 1 is needed, not {replays}"])
    problem = Problem(cluster)
    runs = Runs(problem, replays, progress, stop_event)
    scheduled = summary(problem, runs.queue, runs.scheduled())
    reference = Reference(**dict(scheduled), replays=runs.drawn())
    found = solve(cluster, time_limit=time_limit, watch=progress, stop_event=stop_event)
    planned = summary(problem, runs.queue, _placement(problem, found))
    best = Optimum(**dict(planned), status=found.status, objective=found.objective)
    repair = None if runs.queue else _repair(problem, replays, time_limit, stop_event)
    return Comparison(
        before=summary(problem, runs.queue, problem.node_of),
        kube_scheduler=reference,
        optimal=best,
        difference=_difference(reference, best),
        repair=None if repair is None else repair.figures,
        cut=found.cut or (repair is not None and repair.cut),
        kubernetes=problem.kubernetes.document,
        notes=tuple(
            dict.fromkeys(
                (
                    *found.notes,
                    *remarks(problem),
                    *runs.notes(),
                    *_luck(reference, best),
                    *(() if repair is None else repair.notes),
                )
            )
        ),
    )


@dataclass(frozen=True, slots=True)
class _Repaired:
    """The figures of the running pods, and what the search for moves had to say."""

    figures: RepairComparison
    cut: bool
    notes: tuple[str, ...]


def _repair(
    problem: Problem, replays: int, time_limit: float, stop_event: threading.Event | None
) -> _Repaired:
    """What Descheduler makes of the running pods, and the fewest moves; both under the same policy."""
    plan = rebalance(problem.cluster, time_limit=time_limit, stop_event=stop_event, explain=False)
    named = _descheduled(problem, None)
    draws: list[DeschedulerRun] = []
    for seed in range(1, replays + 1):
        if draws and is_stop_requested(stop_event):
            break
        draws.append(_descheduled(problem, seed))
    best = BestRepair(
        evictions=len(plan.steps),
        rounds=max((step.wave for step in plan.steps), default=0),
        hard_violations=plan.after.hard_violations,
        hard_excess=plan.after.hard_excess,
        pending=plan.after.pending,
        status=plan.status,
        objective=plan.objective,
        proved=plan.status == "Optimal",
    )
    before = _repaired(problem, problem.node_of, len(problem.queue()))
    figures = RepairComparison(before=before, descheduler=named, draws=tuple(draws), optimal=best)
    return _Repaired(figures, plan.cut, (*unmodelled(problem.cluster.descheduler_policy),))


def _descheduled(problem: Problem, seed: int | None) -> DeschedulerRun:
    """One run of Descheduler, and what is wrong then; pods of unknown schedulers stay Pending."""
    found = descheduled(problem, protections_of(problem.cluster), seed=seed)
    repaired = _repaired(
        problem,
        found.node_of,
        found.pending + len(problem.queue()),
        evictions=found.evictions,
        rounds=len(found.rounds),
    )
    return DeschedulerRun(
        **dict(repaired), seed=seed, ending=_ENDINGS[found.ending], preempted=found.preempted
    )


def _repaired(
    problem: Problem, node_of: Codes, pending: int, *, evictions: int = 0, rounds: int = 0
) -> Repair:
    """What is wrong with a cluster after so many evictions."""
    found = audit(problem, node_of)
    hard = [constraint for constraint in found.constraints if constraint.when_unsatisfiable == HARD]
    return Repair(
        evictions=evictions,
        rounds=rounds,
        hard_violations=sum(len(constraint.excess) for constraint in hard),
        hard_excess=found.hard_excess,
        pending=pending,
    )


def _placement(problem: Problem, found: PlacementPlan) -> Codes:
    """The node of every pod when the plan is carried out, -1 for pending."""
    node_of = problem.node_of.copy()
    for step in found.steps:
        node_of[problem.pod_index[step.pod]] = -1 if step.node is None else problem.nodes.index[step.node]
    return node_of


def _luck(reference: Reference, best: Optimum) -> Iterator[str]:
    """A search that was cut short can be beaten by chance; then the reader is told."""
    luckiest = reference.replays.best
    if [count.placed for count in luckiest.by_priority] > [count.placed for count in best.by_priority]:
        yield (
            f"kube-scheduler places more with the ties of seed {luckiest.seed} than the plan that was "
            f"found in time: {luckiest.placed} pods; a longer --time-limit may help"
        )


def _difference(reference: Summary, best: Summary) -> Difference:
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


def _of_spread(ours: DomainPods, theirs: DomainPods) -> SpreadDifference:
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
