"""Placement plans for Kubernetes: what kube-scheduler does, and what would be best.

from models import Cluster
from planner import check, simulate

cluster = Cluster.load("snapshot.json", "deploy.yaml")
simulation = simulate(cluster, preemption=True)
"""

from planner.capacity import capacity
from planner.check import check
from planner.compare import compare
from planner.consolidate.plan import consolidate
from planner.diff import diff
from planner.drain import drain
from planner.errors import InputError, PlannerError
from planner.explain import explain
from planner.rebalance import rebalance
from planner.rollout import rollout
from planner.scaledown.scale_down import scale_down
from planner.simulate import simulate
from planner.solve import solve
from planner.survive import survive

__all__ = [
    "InputError",
    "PlannerError",
    "capacity",
    "check",
    "compare",
    "consolidate",
    "diff",
    "drain",
    "explain",
    "rebalance",
    "rollout",
    "scale_down",
    "simulate",
    "solve",
    "survive",
]
