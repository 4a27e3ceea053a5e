"""Writes the JSON Schema of every document into docs/schema/, from the classes in planner/documents/plan.py.

Run it after a change there: `.venv/bin/python tools/make_schema.py`. A test compares the files.
"""

import json
from pathlib import Path
from typing import Any

from planner.documents.comparison import Comparison
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.diff import Diff
from planner.documents.drain import DrainPlan
from planner.documents.explanation import Explanation, ExplanationList
from planner.documents.move_plan import MovePlan
from planner.documents.plan import CheckReport, Document, PlacementPlan, ScaleDown, Simulation
from planner.documents.rollout import Rollout, Trajectory
from planner.documents.survival import Survival, SurvivalList

FOLDER = Path(__file__).parents[1] / "docs" / "schema"
DOCUMENTS: dict[str, type[Document]] = {
    "check-report.json": CheckReport,
    "comparison.json": Comparison,
    "consolidation-plan.json": ConsolidationPlan,
    "explanation-list.json": ExplanationList,
    "explanation.json": Explanation,
    "move-plan.json": MovePlan,
    "placement-plan.json": PlacementPlan,
    "scale-down.json": ScaleDown,
    "simulation.json": Simulation,
    "diff.json": Diff,
    "drain-plan.json": DrainPlan,
    "rollout.json": Rollout,
    "trajectory.json": Trajectory,
    "survival.json": Survival,
    "survival-list.json": SurvivalList,
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Printed only with -v; every other field is always there, null or empty when there is nothing to say.
_ON_REQUEST = {"repair", "rejected", "scores", "totals"}


def schemas() -> dict[str, str]:
    """The text of every schema file, by name."""
    return {name: _text(document) for name, document in DOCUMENTS.items()}


def _text(document: type[Document]) -> str:
    schema = {"$schema": _DIALECT, **document.model_json_schema(mode="serialization")}
    for part in (schema, *schema.get("$defs", {}).values()):
        _finish(part)
    return json.dumps(schema, indent=2) + "\n"


def _finish(part: dict[str, Any]) -> None:
    """Demand what is always printed, and leave out titles that only repeat the names."""
    properties: dict[str, dict[str, Any]] = part["properties"]
    for field in properties.values():
        field.pop("title", None)
        field.pop("default", None)
    part["required"] = [name for name in properties if name not in _ON_REQUEST]


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in schemas().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
