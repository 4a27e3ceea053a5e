"""A document on standard output, in the form that was asked for; its notes beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from cli.options import Output
from cli.outcome import say, say_notes
from cli.page import Page
from cli.views import (
    check_report,
    comparison,
    explanation,
    move_plan,
    placement_plan,
    rollout,
    scale_down,
    simulation,
    survival,
)
from planner.documents.comparison import Comparison
from planner.documents.explanation import Explanation, ExplanationList
from planner.documents.move_plan import MovePlan
from planner.documents.plan import CheckReport, Document, PlacementPlan, ScaleDown, Simulation
from planner.documents.rollout import Rollout
from planner.documents.survival import Survival, SurvivalList

_SOURCES = {
    "asked": "as was asked for",
    "server": "as the server is",
    "kubelets": "as the newest kubelet is",
    "newest": "the newest one known",
}
__all__ = ["Page", "show", "show_lines"]


def show(document: Document, page: Page) -> None:
    """Print a document; beside it a person is told which release of kube-scheduler was copied."""
    if document.kubernetes is not None and page.for_a_person:
        say(
            f"as kube-scheduler {document.kubernetes.version} decides, {_SOURCES[document.kubernetes.source]}"
        )
    show_lines(document, _lines(document, page))


def show_lines(document: Document, lines: Iterable[str]) -> None:
    """Print a document in a form of its own."""
    say_notes(document.notes)
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _lines(document: Document, page: Page) -> Iterator[str]:
    match page.output:
        case Output.JSON:
            yield document.to_json()
        case Output.YAML:
            yield _yaml(document)
        case Output.NAME:
            yield from _names(document)
        case _:
            yield from _table(document, page)


def _yaml(document: Document) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(document.to_dict(), Dumper=dumper, sort_keys=False, width=10_000)
    return text.removesuffix("\n")


def _names(document: Document) -> Iterator[str]:
    match document:
        case Simulation():
            yield from simulation.names(document)
        case CheckReport():
            yield from dict.fromkeys(check_report.names(document))
        case PlacementPlan():
            yield from placement_plan.names(document)
        case Explanation() | ExplanationList():
            yield from explanation.names(document)
        case ScaleDown():
            yield from scale_down.names(document)
        case Survival() | SurvivalList():
            yield from survival.names(document)
        case Rollout():
            yield from rollout.names(document)
        case MovePlan():
            yield from move_plan.names(document)
        case Comparison():
            yield from comparison.names(document)


def _table(document: Document, page: Page) -> Iterator[str]:
    match document:
        case Simulation():
            yield from simulation.lines(document, page)
        case CheckReport():
            yield from check_report.lines(document, page)
        case PlacementPlan():
            yield from placement_plan.lines(document, page)
        case Explanation() | ExplanationList():
            yield from explanation.lines(document, page)
        case ScaleDown():
            yield from scale_down.lines(document, page)
        case Survival() | SurvivalList():
            yield from survival.lines(document, page)
        case Rollout():
            yield from rollout.lines(document, page)
        case MovePlan():
            yield from move_plan.lines(document, page)
        case Comparison():
            yield from comparison.lines(document, page)
