"""`check`: what the constraints of a cluster ask for, and what it has."""

from __future__ import annotations

from models import Cluster
from planner.audit.findings import audit
from planner.documents.plan import CheckReport
from planner.problem.problem import Problem


def check(cluster: Cluster) -> CheckReport:
    """Every spread constraint with its pods per domain, and whatever else is wrong."""
    problem = Problem(cluster)
    report = audit(problem, problem.node_of)
    notes = (*cluster.notes, *problem.notes, *report.notes)
    return report.model_copy(update={"kubernetes": problem.kubernetes.document, "notes": notes})
