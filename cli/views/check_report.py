"""A CheckReport: every constraint, what else is wrong, and the sum of it."""

from __future__ import annotations

from collections.abc import Iterator

from cli.page import MANY_ROWS, Page, counted
from cli.table import table
from cli.views.spread import domains_now, is_hard, short_key
from planner.documents.plan import CheckReport, ConstraintReport, Finding


def lines(document: CheckReport, page: Page) -> Iterator[str]:
    """The report as a person reads it."""
    rows = _shown(document.constraints, page)
    if rows:
        yield from _constraints(rows, page)
        yield ""
    if document.findings:
        yield from _findings(document.findings, page)
        yield ""
    yield _summary(document, page)


def names(document: CheckReport) -> Iterator[str]:
    """The workloads and pods that do not have what they ask for."""
    for row in document.constraints:
        if is_hard(row) and not row.ok:
            kind, _, name = row.workload.partition("/")
            yield f"{kind.lower()}/{row.namespace}/{name}"
    for finding in document.findings:
        yield f"pod/{finding.pod}" if finding.pod else f"node/{finding.node}"


def _shown(constraints: tuple[ConstraintReport, ...], page: Page) -> list[ConstraintReport]:
    if page.everything or len(constraints) <= MANY_ROWS:
        return list(constraints)
    return [row for row in constraints if not row.ok]


def _constraints(rows: list[ConstraintReport], page: Page) -> Iterator[str]:
    heads = ["NAMESPACE", "WORKLOAD", "KEY", "WHEN", "MAXSKEW", "SKEW", "DOMAINS"]
    cells = [
        [
            row.namespace,
            row.workload,
            row.topology_key if page.everything else short_key(row.topology_key),
            row.when_unsatisfiable,
            str(row.max_skew),
            _skew(row, page),
            domains_now(row, page.screen, everything=page.everything) + _whose(row, rows, page),
        ]
        for row in rows
    ]
    if page.everything:
        heads[-1:-1] = ["MINIMUM", "SELECTOR"]
        for row, line in zip(rows, cells, strict=True):
            line[-1:-1] = [str(row.global_minimum), row.selector or "<none>"]
    yield from table(heads, cells, page.screen)


def _whose(row: ConstraintReport, rows: list[ConstraintReport], page: Page) -> str:
    """The selector, where a workload has the same constraint for two sets of pods."""
    alike = [(other.namespace, other.workload, other.topology_key) for other in rows]
    twice = alike.count((row.namespace, row.workload, row.topology_key)) > 1
    return f" of {row.selector}" if twice and not page.everything else ""


def _skew(row: ConstraintReport, page: Page) -> str:
    if row.ok:
        return page.screen.paint(str(row.skew), "green")
    return page.screen.paint(str(row.skew), "red" if is_hard(row) else "yellow")


def _findings(findings: tuple[Finding, ...], page: Page) -> Iterator[str]:
    heads = ("NAMESPACE", "NAME", "NODE", "PLUGIN", "MESSAGE")
    rows = []
    for finding in findings:
        namespace, _, name = finding.pod.rpartition("/")
        rows.append([namespace, name, finding.node, finding.plugin, finding.message])
    yield from table(heads, [[cell or "<none>" for cell in row] for row in rows], page.screen)


def _summary(document: CheckReport, page: Page) -> str:
    """`3 constraints hold, 1 does not.`"""
    broken = [row for row in document.constraints if is_hard(row) and not row.ok]
    missed = sum(not is_hard(row) and not row.ok for row in document.constraints)
    parts = [_verdict(len(document.constraints) - len(broken) - missed, len(broken))]
    if not document.constraints:
        parts = ["There are no topology spread constraints"]
    if broken:
        surplus = sum(sum(row.excess.values()) for row in broken)
        parts[0] += f": {counted(surplus, 'pod')} too many"
    if missed:
        parts.append(f"{missed} ScheduleAnyway {_are(missed, 'is', 'are')} exceeded, as allowed")
    if document.findings:
        parts.append(counted(len(document.findings), "other finding"))
    if document.pending:
        have = _are(document.pending, "is pending and has", "are pending and have")
        parts.append(f"{counted(document.pending, 'pod')} {have} no say")
    return page.screen.paint("; ".join(parts) + ".", "red" if document.violations else "green")


def _verdict(held: int, broken: int) -> str:
    holding = f"{counted(held, 'constraint')} {_are(held, 'holds', 'hold')}"
    if broken and held:
        return f"{holding}, {broken} {_are(broken, 'does', 'do')} not"
    if broken:
        return f"{counted(broken, 'constraint')} {_are(broken, 'does', 'do')} not hold"
    return holding if held else "No constraint is broken"


def _are(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
