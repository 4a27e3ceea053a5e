"""kube-scheduler beside the best plan: the same batch, the same figures.

Neither side evicts pods: `solve` leaves running pods where they are, so the scheduler is compared
without preemption.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from models import Cluster
from planner.audit.summary import summary
from planner.audit.tie_runs import Progress, Runs
from planner.documents.comparison import (
    Comparison,
    Difference,
    DomainPods,
    Optimum,
    PriorityDifference,
    Reference,
    SpreadDifference,
    Summary,
    Utilisation,
    UtilisationDifference,
)
from planner.documents.plan import PlacementPlan
from planner.errors import InputError
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.simulate import remarks
from planner.solve import solve


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
    return Comparison(
        before=summary(problem, runs.queue, problem.node_of),
        kube_scheduler=reference,
        optimal=best,
        difference=_difference(reference, best),
        cut=found.cut,
        kubernetes=problem.kubernetes.document,
        notes=tuple(dict.fromkeys((*found.notes, *remarks(problem), *runs.notes(), *_luck(reference, best)))),
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
