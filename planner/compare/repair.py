"""The running pods in short: what Descheduler and the fewest moves make of them."""

from __future__ import annotations

from collections.abc import Sequence

from models.errors import InternalError
from planner.compare.columns import ClusterFigures
from planner.compare.ways import Outcome
from planner.documents.comparison import BestRepair, DeschedulerRun, RepairComparison


def repair(figures: ClusterFigures, now: Outcome, runs: Sequence[Outcome], best: Outcome) -> RepairComparison:
    """The first of Descheduler's runs is the one without draws."""
    named, *draws = [_run(figures, outcome) for outcome in runs]
    plan = best.plan
    if plan is None:
        raise InternalError("the best outcome has no plan")
    return RepairComparison(
        before=figures.repair(now),
        descheduler=named,
        draws=tuple(draws),
        optimal=BestRepair(
            **dict(figures.repair(best)),
            status=plan.status,
            objective=plan.objective,
            proved=plan.status == "Optimal",
        ),
    )


def _run(figures: ClusterFigures, outcome: Outcome) -> DeschedulerRun:
    found = outcome.descheduled
    if found is None:
        raise InternalError("not a run of Descheduler")
    return DeschedulerRun(
        **dict(figures.repair(outcome)),
        seed=outcome.seed,
        ending=found.ending,
        preempted=found.preempted,
    )
