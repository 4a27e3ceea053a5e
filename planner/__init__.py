"""Placement plans for Kubernetes: what kube-scheduler does, and what would be best.

from models import Cluster
from planner import check, simulate

cluster = Cluster.load("snapshot.json", "deploy.yaml")
simulation = simulate(cluster, preemption=True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from models.errors import InputError, PlannerError

if TYPE_CHECKING:
    from planner.audit.check import check
    from planner.audit.diff import diff
    from planner.batch.solve import solve
    from planner.capacity.capacity import capacity
    from planner.compare.comparison import compare
    from planner.consolidate.plan import consolidate
    from planner.explain.explain import explain
    from planner.rebalance.plan import rebalance
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

#: Where each function is. It is imported when it is asked for: all together take longer than a small `check`.
_MODULES = {
    "capacity": "capacity.capacity",
    "check": "audit.check",
    "compare": "compare.comparison",
    "consolidate": "consolidate.plan",
    "diff": "audit.diff",
    "drain": "simulation.drain",
    "explain": "explain.explain",
    "rebalance": "rebalance.plan",
    "rollout": "simulation.rollout",
    "scale_down": "simulation.scaledown.scale_down",
    "simulate": "simulation.simulate",
    "solve": "batch.solve",
    "survive": "simulation.survive",
}

# A room becomes an attribute when it is first imported, and these have the name of a function.
for _room in ("capacity", "compare", "consolidate", "explain", "rebalance"):
    import_module(f"{__name__}.{_room}")
    del globals()[_room]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = function
    return function
