"""Placement plans for Kubernetes: what kube-scheduler does, and what would be best.

from models import Cluster
from planner import check, simulate

cluster = Cluster.load("snapshot.json", "deploy.yaml")
simulation = simulate(cluster, preemption=True)
"""

from models.errors import InputError, PlannerError
from planner.audit.check import check
from planner.audit.diff import diff
from planner.batch.solve import solve
from planner.capacity import capacity
from planner.compare import compare
from planner.consolidate.plan import consolidate
from planner.explain import explain
from planner.rebalance import rebalance
from planner.simulation.drain import drain
from planner.simulation.rollout import rollout
from planner.simulation.scaledown.scale_down import scale_down
from planner.simulation.simulate import simulate
from planner.simulation.survive import survive

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
