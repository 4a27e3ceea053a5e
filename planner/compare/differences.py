"""The best plan less kube-scheduler, figure by figure."""

from __future__ import annotations

from planner.documents.comparison import (
    Difference,
    PriorityDifference,
    SpreadDifference,
    UtilisationDifference,
)
from planner.documents.figures import DomainCount, Summary, Utilisation


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
