"""A Survival: a row for every workload that a lost domain hurts, and the way out for who stays pending."""

from __future__ import annotations

from collections.abc import Iterator

from cli.page import Page, counted
from cli.table import folded, table
from cli.views.explanation import consequences
from cli.views.spread import short_key
from planner.documents.survival import DomainLoss, LostPending, Survival, SurvivalList, WorkloadLoss


def lines(document: Survival | SurvivalList, page: Page) -> Iterator[str]:
    """The survey as a person reads it, or one after the other."""
    if isinstance(document, Survival):
        yield from _survey(document, page)
        return
    for number, survey in enumerate(document.items):
        yield from ("",) if number else ()
        yield from _survey(survey, page)


def _survey(document: Survival, page: Page) -> Iterator[str]:
    rows = [_row(loss, row, page) for loss in document.domains for row in _shown(loss, page)]
    if rows:
        heads = ("WITHOUT", "NAMESPACE", "WORKLOAD", "REPLICAS", "LOST", "REPLACED", "PENDING")
        yield from table(heads, rows, page.screen)
        yield ""
    for loss in document.domains:
        for left in loss.pending:
            yield from _left(loss, left, page)
            yield ""
    yield _summary(document, page)


def names(document: Survival | SurvivalList) -> Iterator[str]:
    """The workloads that do not survive the loss of some domain."""
    surveys = [document] if isinstance(document, Survival) else document.items
    losses = [loss for survey in surveys for loss in survey.domains]
    found = {(row.namespace, row.workload) for loss in losses for row in loss.workloads if not row.ok}
    for namespace, workload in sorted(found):
        kind, _, name = workload.partition("/")
        yield f"{kind.lower()}/{namespace}/{name}"


def _shown(loss: DomainLoss, page: Page) -> Iterator[WorkloadLoss]:
    return (row for row in loss.workloads if page.everything or not row.ok)


def _row(loss: DomainLoss, row: WorkloadLoss, page: Page) -> list[str]:
    lost = str(row.lost)
    return [
        loss.domain,
        row.namespace,
        row.workload,
        str(row.replicas),
        page.screen.paint(lost, "red") if row.lost == row.replicas else lost,
        str(row.replaced),
        page.screen.paint(str(row.pending), "red") if row.pending else "0",
    ]


def _left(loss: DomainLoss, left: LostPending, page: Page) -> Iterator[str]:
    pods = counted(left.pods, "pod")
    yield f"Without {loss.domain}, {pods} of {left.workload} in {left.namespace} pending:"
    width = None if page.screen.width is None else page.screen.width - 2
    yield from (f"  {line}" for line in folded(left.message, width))
    way_out = "nothing in the catalogue of changes helps"
    if left.fix is not None:
        told = "; ".join(dict.fromkeys(change.summary for change in left.fix.changes))
        way_out = f"what helps {left.example}: {told} -> {left.fix.node}{consequences(left.fix)}"
    yield from (f"  {line}" for line in folded(way_out, width))


def _summary(document: Survival, page: Page) -> str:
    key = short_key(document.topology_key)
    lost = [loss.domain for loss in document.domains if not loss.ok]
    if not lost:
        domains = counted(len(document.domains), "domain")
        return page.screen.paint(f"Every workload survives the loss of each of {domains} of {key}.", "green")
    sentence = f"Of {counted(len(document.domains), 'domain')} of {key}, the loss of {', '.join(lost)} hurts."
    return page.screen.paint(sentence, "red")
