"""`check`: what the constraints of a cluster ask for, and what it has."""

from __future__ import annotations

from models import Cluster
from models.errors import InputError
from planner.audit import coverage
from planner.audit.findings import audit
from planner.audit.spread_counts import asked
from planner.documents.plan import CheckReport
from planner.problem.problem import Problem
from planner.state.state import State


def check(cluster: Cluster) -> CheckReport:
    """Every spread constraint with its pods per domain, and whatever else is wrong."""
    if not cluster.nodes:
        raise InputError(["there are no nodes to count pods on; `kubectl get nodes,pods -A` has both"])
    problem = Problem(cluster)
    report, state = audit(problem, problem.node_of), State(problem)
    rules = asked(problem, state)
    mismatches = tuple(coverage.mismatches(problem, rules))
    outside = coverage.outside_all_domains(problem, state, rules)
    return report.model_copy(
        update={
            "kubernetes": problem.kubernetes.document,
            "findings": (*report.findings, *mismatches),
            "violations": report.violations + len(mismatches),
            "notes": (*cluster.notes, *problem.notes, *report.notes, *dict.fromkeys(outside)),
        }
    )
