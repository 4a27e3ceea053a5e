"""The plain model of a packing: a truth for every pod and node, room, and nothing else.

What an engineer would write down in five minutes; a search made for the purpose has to be at least as good.
"""

from __future__ import annotations

import time
from typing import Any

from ortools.sat.python import cp_model

from models import Cluster
from planner.problem.problem import Problem


def plain(cluster: Cluster, seconds: float = 8.0) -> list[dict[str, Any]]:
    """For every priority, the highest first, the pods placed from there up and the bound, within the time."""
    problem = Problem(cluster)
    nodes, pods = range(problem.nodes.size), range(len(problem.pods))
    model = cp_model.CpModel()
    at = [[model.new_bool_var("") for _ in nodes] for _ in pods]
    for row in at:
        model.add_at_most_one(row)
    for resource, free in enumerate(problem.allocatable.tolist()):
        wants = [int(problem.template(pod).requests[resource]) for pod in pods]
        for node in nodes:
            if any(wants):
                column = [at[pod][node] for pod in pods]
                model.add(cp_model.LinearExpr.weighted_sum(column, wants) <= free[node])
    for pod in pods:
        for node in nodes:
            model.add_hint(at[pod][node], int(problem.node_of[pod] == node))
    found, end = list[dict[str, Any]](), time.monotonic() + seconds
    priorities = problem.priorities.tolist()
    for priority in sorted(set(priorities), reverse=True):
        placed = sum(at[pod][node] for pod in pods if priorities[pod] >= priority for node in nodes)
        model.maximize(placed)
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = max(0.1, end - time.monotonic())
        if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            break
        value = round(solver.objective_value)
        found.append(
            {"priority": priority, "placed": value, "bound": int(solver.best_objective_bound + 1e-6)}
        )
        model.add(placed >= value)
        model.clear_hints()  # type: ignore[no-untyped-call]
        for variable in (variable for row in at for variable in row):
            model.add_hint(variable, solver.value(variable))
    return found
