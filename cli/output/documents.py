"""What `-o json` printed, as a document again."""

from typing import Any

from planner.documents.capacity import Capacity
from planner.documents.comparison import Comparison
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.drain import DrainPlan
from planner.documents.explanation import Explanation, ExplanationList
from planner.documents.move_plan import MovePlan
from planner.documents.plan import CheckReport, Document, PlacementPlan, ScaleDown, Simulation
from planner.documents.rollout import AppliedSimulation, Rollout, Trajectory
from planner.documents.survival import Survival, SurvivalList

#: All that a question of sweep and fleet is answered with.
_ANSWERS: tuple[type[Document], ...] = (
    Capacity,
    CheckReport,
    Comparison,
    ConsolidationPlan,
    DrainPlan,
    Explanation,
    ExplanationList,
    MovePlan,
    PlacementPlan,
    Rollout,
    ScaleDown,
    Simulation,
    Survival,
    SurvivalList,
    Trajectory,
)


def document_of(found: dict[str, Any]) -> Document:
    """The document in its own class, by its kind."""
    if "rollouts" in found:
        return AppliedSimulation.model_validate(found)
    kind = next(kind for kind in _ANSWERS if kind.model_fields["kind"].default == found["kind"])
    return kind.model_validate(found)
