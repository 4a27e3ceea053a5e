"""Kubernetes objects as the planner sees them, and the snapshot of a cluster that holds them."""

from models.cluster import Cluster
from models.errors import InputError, PlannerError

__all__ = ["Cluster", "InputError", "PlannerError"]
