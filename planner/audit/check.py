"""`check`: what the constraints of a cluster ask for, and what it has."""

from __future__ import annotations

from models import Cluster
from planner.audit import coverage
from planner.audit.findings import audit
from planner.audit.spread_counts import asked
from planner.documents.plan import CheckReport
from planner.problem.nodes import refuse_no_nodes
from planner.problem.problem import Problem
from planner.state.state import State


def check(cluster: Cluster) -> CheckReport:
    """Every spread constraint with its pods per domain, and whatever else is wrong."""
    refuse_no_nodes(cluster.nodes)
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
