"""A ScaleDown: who goes by whose choice, and what that does to the spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.page import MANY_ROWS, Page, counted
from cli.table import table
from cli.views.spread import domains_now, short_key
from cli.views.stages import stages
from planner.documents.plan import ConstraintReport, ScaleDown


def lines(document: ScaleDown, page: Page) -> Iterator[str]:
    """The two choices as a person compares them."""
    for section in (_victims, _spread, _objective):
        found = list(section(document, page))
        if found:
            yield from found
            yield ""
    yield _summary(document, page)


def names(document: ScaleDown) -> Iterator[str]:
    """The pods that should go."""
    return (f"pod/{victim}" for victim in document.best.victims)


def _victims(document: ScaleDown, page: Page) -> Iterator[str]:
    """Every pod that goes by one choice or the other; long lists only on request."""
    ours, theirs = set(document.best.victims), set(document.controller.victims)
    either = list(dict.fromkeys((*document.best.victims, *document.controller.victims)))
    if not either or (len(either) > MANY_ROWS and not page.everything):
        return iter(())
    rows = [[*pod.split("/", 1), _goes(pod in theirs), _goes(pod in ours)] for pod in either]
    return table(("NAMESPACE", "NAME", "CONTROLLER", "BEST"), rows, page.screen)


def _goes(going: bool) -> str:
    return "goes" if going else "stays"


def _spread(document: ScaleDown, page: Page) -> Iterator[str]:
    """Every constraint twice: after the controllers' choice, and after the best."""
    heads = ("NAMESPACE", "WORKLOAD", "KEY", "MAXSKEW", "CHOICE", "SKEW", "DOMAINS")
    pairs = zip(document.controller.constraints, document.best.constraints, strict=True)
    rows = [
        _cells(row, choice, page)
        for pair in pairs
        for choice, row in zip(("controller", "best"), pair, strict=True)
    ]
    return table(heads, rows, page.screen) if rows else iter(())


def _cells(row: ConstraintReport, choice: str, page: Page) -> Sequence[str]:
    return (
        row.namespace,
        row.workload,
        row.topology_key if page.everything else short_key(row.topology_key),
        str(row.max_skew),
        choice,
        page.screen.paint(str(row.skew), "green" if row.ok else "red"),
        domains_now(row, page.screen, everything=page.everything),
    )


def _objective(document: ScaleDown, page: Page) -> Iterator[str]:
    """The stages, where something is not proved or everything is wanted."""
    if document.status == "Optimal" and not page.verbose:
        return iter(())
    return stages(document.objective, page)


def _summary(document: ScaleDown, page: Page) -> str:
    """`3 pods go: the best choice leaves skew 0 where the controllers' leaves 2.`"""
    ours, theirs = document.best, document.controller
    going = counted(len(ours.victims), "pod") + (" goes" if len(ours.victims) == 1 else " go")
    broken = f", {counted(ours.hard_excess, 'pod')} too many" if ours.hard_excess else ""
    if not ours.victims:
        sentence = f"No pods go{broken}"
    elif set(ours.victims) == set(theirs.victims):
        best = "no choice is better" if document.status == "Optimal" else "no better one was found"
        them = "it" if len(ours.victims) == 1 else "them"
        sentence = f"{going}{broken}: the controller takes {them} by itself, and {best}"
    else:
        sentence = f"{going}: {_compared(document)}"
    sentence = sentence[0].upper() + sentence[1:]
    return page.screen.paint(f"{sentence}.", "red" if ours.hard_excess else "green")


def _compared(document: ScaleDown) -> str:
    """Where the two choices differ first."""
    ours, theirs = document.best, document.controller
    for wording, mine, other in (
        ("{} too many", ours.hard_excess, theirs.hard_excess),
        ("{} too many for ScheduleAnyway", ours.soft_excess, theirs.soft_excess),
    ):
        if mine != other:
            return f"the best choice leaves {wording.format(counted(mine, 'pod'))}, the controller's {other}"
    if ours.skew != theirs.skew:
        return f"the best choice leaves skew {ours.skew}, the controller's {theirs.skew}"
    return "the best choice is as well spread as the controller's"
