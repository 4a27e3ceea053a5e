"""A planner that tells the untruth, for tests that it is found out."""

from models import Cluster
from planner import solve
from planner.documents.plan import PlacementPlan

#: No search is needed for what is then overwritten.
_LIMIT = 0.05


def proves_that_nothing_fits(cluster: Cluster, **_: object) -> PlacementPlan:
    """As `solve`, but it leaves every pod out and calls that proved: only the names of stages are true."""
    plan = solve(cluster, time_limit=_LIMIT)
    stages = tuple(
        stage.model_copy(update={"value": 0, "bound": 0, "proved": True}) for stage in plan.objective
    )
    return plan.model_copy(update={"steps": (), "objective": stages})
