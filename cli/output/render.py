"""A document on standard output, in the form that was asked for; its notes beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.input.options import Output
from cli.output.blocks import Section, Sentence, section
from cli.output.forms import markdown, text
from cli.output.outcome import say, say_notes, write_lines, writing
from cli.output.page import Page
from cli.output.yaml_text import yaml_text
from planner.documents.plan import Document
from planner.documents.streams import json_lines, json_pieces

if TYPE_CHECKING:
    from cli.output.forms.pipelines import Places

_SOURCES = {
    "asked": "as asked for",
    "server": "the version of the server",
    "kubelets": "the version of the newest kubelet",
    "newest": "the newest one checked against the real one",
}
__all__ = ["Page", "sections_of", "show", "show_lines", "view_of", "write_junit"]


def show(document: Document, page: Page, places: Places | None = None) -> None:
    """Print a document; beside it a person is told which release of kube-scheduler was copied.

    `places` are the files that its workloads are made with.
    """
    if document.kubernetes is not None and page.for_a_person:
        say(
            f"as kube-scheduler {document.kubernetes.version} decides, {_SOURCES[document.kubernetes.source]}"
        )
    show_lines(document, _lines(document, page, places or {}))


def write_junit(document: Document, file: str | None) -> None:
    """What a document found as JUnit's XML, where a file for it was named."""
    if file is None:
        return
    from cli.output.forms import pipelines
    from cli.output.junit_cases import cases_of

    lines = [f"{line}\n" for line in pipelines.junit(cases_of(document), document.kind)]
    with writing("--junit", file):
        Path(file).write_text("".join(lines), encoding="utf-8")


def show_lines(document: Document, lines: Iterable[str]) -> None:
    """Print a document in a form of its own."""
    say_notes(document.notes)
    write_lines(lines)


def _lines(document: Document, page: Page, places: Places) -> Iterator[str]:
    match page.output:
        case Output.JSON:
            yield from json_pieces(document)
        case Output.JSONL:
            yield from json_lines(document)
        case Output.YAML:
            yield yaml_text(document.to_dict())
        case Output.NAME:
            yield from _names(document)
        case Output.MARKDOWN:
            yield from markdown.lines(sections_of(document, page))
        case Output.GITHUB | Output.GITLAB:
            yield from _for_pipelines(document, page, places)
        case _:
            yield from _table(document, page)


def _for_pipelines(document: Document, page: Page, places: Places) -> Iterator[str]:
    from cli.output.forms import pipelines
    from cli.output.junit_cases import cases_of

    if page.output == Output.GITHUB:
        return pipelines.github(cases_of(document), document.notes, places)
    return iter([pipelines.gitlab(cases_of(document), places)])


def _names(document: Document) -> Iterator[str]:
    return iter(dict.fromkeys(view_of(document).names(document)))


def _table(document: Document, page: Page) -> Iterator[str]:
    return text.lines(sections_of(document, page), page.screen)


def sections_of(document: Document, page: Page) -> Iterator[Section]:
    """A document as a person reads it: the verdict, of which pods it is where not of all, and the rest."""
    found: Iterator[Section] = view_of(document).sections(document, page)
    if document.about is not None:
        yield from islice(found, 1)
        yield section("", Sentence(f"{document.about[0].upper()}{document.about[1:]} were asked about."))
    yield from found


def view_of(document: Document) -> Any:
    """The module that knows how a person reads such a document: `sections` and `names`."""
    name = next(_VIEWS[kind.__name__] for kind in type(document).__mro__ if kind.__name__ in _VIEWS)
    return import_module(f"cli.output.views.{name}")


#: The module of a class of documents. It is imported when one is shown: a command shows one kind.
_VIEWS: Mapping[str, str] = {
    "Capacity": "capacity",
    "CheckReport": "check_report",
    "Comparison": "comparison",
    "ConsolidationPlan": "consolidation",
    "Diff": "diff",
    "DrainPlan": "drain",
    "Explanation": "explanation",
    "ExplanationList": "explanation",
    "FleetDocument": "fleet",
    "MovePlan": "move_plan",
    "PlacementPlan": "placement_plan",
    "Rollout": "rollout",
    "ScaleDown": "scale_down",
    "Simulation": "simulation",
    "Survival": "survival",
    "SurvivalList": "survival",
    "Trajectory": "trajectory",
}
