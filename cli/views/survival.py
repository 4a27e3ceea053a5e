"""A Survival: a row for every workload that a lost domain hurts, and the way out for who stays pending."""

from __future__ import annotations

from collections.abc import Iterator

from cli.blocks import Block, Cell, Section, Sentence, Table, Verdict, Words, rows_of, section
from cli.page import Page, counted
from cli.views.explanation import consequences
from cli.views.names import workload_line
from cli.views.spread import short_key
from planner.documents.survival import DomainLoss, LostPending, Survival, SurvivalList, WorkloadLoss

#: So many lost domains are named in the verdict.
_MOST_NAMES = 8


def sections(document: Survival | SurvivalList, page: Page) -> Iterator[Section]:
    """The survey as a person reads it, or one after the other."""
    for survey in [document] if isinstance(document, Survival) else document.items:
        yield section("", _verdict(survey))
        rows = [_row(loss, row) for loss in survey.domains for row in _shown(loss, page)]
        heads = ("WITHOUT", "NAMESPACE", "WORKLOAD", "REPLICAS", "LOST", "REPLACED", "PENDING")
        title = f"Losing each {short_key(survey.topology_key)}"
        yield section(title, Table(heads, rows_of(rows), noun="workload"))
        for loss in survey.domains:
            for left in loss.pending:
                yield section("", *_left(f"Without {loss.domain}", left))
        yield section("As long as the nodes stay", *_meanwhile(survey, page))


def names(document: Survival | SurvivalList) -> Iterator[str]:
    """The workloads that do not survive the loss of some domain."""
    surveys = [document] if isinstance(document, Survival) else document.items
    losses = [loss for survey in surveys for loss in survey.domains]
    found = {(row.namespace, row.workload) for loss in losses for row in loss.workloads if not row.ok}
    return (workload_line(namespace, workload) for namespace, workload in sorted(found))


def _shown(loss: DomainLoss, page: Page) -> Iterator[WorkloadLoss]:
    return (row for row in loss.workloads if page.everything or not row.ok)


def _row(loss: DomainLoss, row: WorkloadLoss) -> list[Words]:
    return [
        loss.domain,
        row.namespace,
        row.workload,
        str(row.replicas),
        Cell(str(row.lost), "bad" if row.lost == row.replicas else "plain"),
        str(row.replaced),
        Cell(str(row.pending), "bad" if row.pending else "plain"),
    ]


def _meanwhile(survey: Survival, page: Page) -> Iterator[Block]:
    """Who waits as long as the nodes of a lost domain are there; below it what the scheduler says."""
    rows: list[list[Words]] = [
        [loss.domain, left.namespace, left.workload, str(left.pods), _way_out(left)]
        for loss in survey.domains
        for left in loss.meanwhile
    ]
    if not rows:
        return
    yield Sentence(
        "As long as the nodes of a lost domain stay in the cluster, unreachable, constraints count it as one "
        "without pods, and more pods wait:"
    )
    heads = ("UNREACHABLE", "NAMESPACE", "WORKLOAD", "PENDING", "WHAT HELPS")
    yield Table(heads, rows_of(rows), noun="workload")
    for loss in survey.domains if page.everything else ():
        for left in loss.meanwhile:
            yield from _left(f"With {loss.domain} unreachable", left)


def _way_out(left: LostPending) -> str:
    if left.fix is None:
        return "nothing in the catalogue of changes"
    told = "; ".join(dict.fromkeys(change.summary for change in left.fix.changes))
    return f"{told} -> {left.fix.node}{consequences(left.fix)}"


def _left(when: str, left: LostPending) -> Iterator[Block]:
    pods = counted(left.pods, "pod")
    yield Sentence(f"{when}, {pods} of {left.workload} in {left.namespace} pending:")
    yield Sentence(left.message, indent=2)
    helps = _way_out(left)
    yield Sentence(f"{helps} helps" if left.fix is None else f"what helps {left.example}: {helps}", indent=2)


def _verdict(document: Survival) -> Verdict:
    key = short_key(document.topology_key)
    lost = [loss.domain for loss in document.domains if not loss.ok]
    domains = counted(len(document.domains), "domain")
    if not lost:
        when = ", once its nodes are taken away" if any(loss.meanwhile for loss in document.domains) else ""
        return Verdict(f"Every workload survives the loss of each of {domains} of {key}{when}.", "good")
    return Verdict(f"Of {domains} of {key}, the loss of {_some(lost)} hurts.", "bad")


def _some(domains: list[str]) -> str:
    """The first few; the table has them all."""
    more = len(domains) - _MOST_NAMES
    return ", ".join(domains[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
