"""Writes the reference of all documents from the classes in planner/documents/, and nothing by hand.

`docs/schema/` holds a JSON Schema for each, `docs/formats.md` the same for readers.
Run it after a change there: `.venv/bin/python -m tools.make_schema`. A test compares the files.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel

from planner.documents.capacity import Capacity
from planner.documents.comparison import Comparison
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.diff import Diff
from planner.documents.drain import DrainPlan
from planner.documents.explanation import Explanation, ExplanationList
from planner.documents.fleet import Fleet, Sweep
from planner.documents.move_plan import MovePlan
from planner.documents.plan import (
    CheckReport,
    Document,
    DocumentPart,
    PlacementPlan,
    ScaleDown,
    Simulation,
)
from planner.documents.rollout import AppliedSimulation, Rollout, Trajectory
from planner.documents.survival import Survival, SurvivalList
from tools.field_docs import field_docs
from tools.formats_page import formats_page

DOCS = Path(__file__).parents[1] / "docs"
FOLDER = DOCS / "schema"
#: The file of each document's schema, the document, and the command that prints it.
DOCUMENTS: dict[str, tuple[type[Document], str]] = {
    "check-report.json": (CheckReport, "planner check"),
    "survival.json": (Survival, "planner check --survive"),
    "survival-list.json": (SurvivalList, "planner check --survive, with several keys"),
    "simulation.json": (Simulation, "planner simulate"),
    "applied-simulation.json": (
        AppliedSimulation,
        "planner simulate, of files of which later ones change the template of a workload that runs",
    ),
    "explanation.json": (Explanation, "planner explain, of one pod"),
    "explanation-list.json": (ExplanationList, "planner explain, of several"),
    "placement-plan.json": (PlacementPlan, "planner solve"),
    "comparison.json": (Comparison, "planner compare"),
    "move-plan.json": (MovePlan, "planner rebalance"),
    "consolidation-plan.json": (ConsolidationPlan, "planner consolidate"),
    "capacity.json": (Capacity, "planner capacity"),
    "scale-down.json": (ScaleDown, "planner scale-down"),
    "drain-plan.json": (DrainPlan, "planner drain"),
    "rollout.json": (Rollout, "planner rollout"),
    "trajectory.json": (Trajectory, "planner rollout --scale"),
    "sweep.json": (Sweep, "planner sweep"),
    "fleet.json": (Fleet, "planner fleet"),
    "diff.json": (Diff, "planner diff"),
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Printed only with -v; every other field is always there, null or empty when there is nothing to say.
_ON_REQUEST = {"repair", "rejected", "scores", "totals"}


def schemas() -> dict[str, str]:
    """The text of every schema file, by name."""
    return {name: json.dumps(_schema(document), indent=2) + "\n" for name, (document, _) in DOCUMENTS.items()}


def page() -> str:
    """The text of docs/formats.md."""
    return formats_page([(name, _schema(document), told) for name, (document, told) in DOCUMENTS.items()])


@cache
def _schema(document: type[Document]) -> dict[str, Any]:
    schema = {"$schema": _DIALECT, **document.model_json_schema(mode="serialization")}
    classes = {part.__name__: part for part in _below(DocumentPart)}
    for part in (schema, *schema.get("$defs", {}).values()):
        _finish(part, classes[part["title"]])
    return schema


def _below(part: type[DocumentPart]) -> list[type[DocumentPart]]:
    return [part, *(found for sub in part.__subclasses__() for found in _below(sub))]


def _finish(part: dict[str, Any], of: type[DocumentPart]) -> None:
    """Demand what is always printed, describe every field, leave out titles that only repeat the names."""
    properties: dict[str, dict[str, Any]] = part["properties"]
    docs = field_docs(of)
    said = {info.alias or to_camel(name): docs.get(name) for name, info in of.model_fields.items()}
    for name, field in properties.items():
        field.pop("title", None)
        field.pop("default", None)
        if said[name]:
            field["description"] = said[name]
    part["required"] = [name for name in properties if name not in _ON_REQUEST]


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in schemas().items():
        (FOLDER / name).write_text(text)
    (DOCS / "formats.md").write_text(page())


if __name__ == "__main__":
    main()
