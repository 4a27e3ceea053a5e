"""A CheckReport: the sum of it, every constraint, and what else is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.blocks import Section, Sentence, SpreadBlock, Table, VerdictBlock, rows_of, section
from cli.output.page import Page, counted
from cli.output.table import JOINT
from cli.output.views.names import pod_line, workload_line
from cli.output.views.spread import by_weight, is_hard, row_now
from planner.documents.plan import CheckReport, Finding

#: Of more constraints those that hold are only counted.
_MOST_HELD = 40
#: From this many excess pods on, fewer moves than pods may repair them.
_SEVERAL = 2


def sections(document: CheckReport, page: Page) -> Iterator[Section]:
    """The report as a person reads it."""
    yield section("", _verdict(document))
    yield section("Spread", _spread(document, page))
    yield section("", _remedy(document))
    yield section("Other findings", _findings(document.findings, page))


def names(document: CheckReport) -> Iterator[str]:
    """The workloads and pods that do not have what they ask for."""
    for row in document.constraints:
        if is_hard(row) and not row.ok:
            yield workload_line(row.namespace, row.workload)
    for finding in document.findings:
        yield pod_line(finding.pod) if finding.pod else f"node/{finding.node}"


def _spread(document: CheckReport, page: Page) -> SpreadBlock:
    """What is broken first; of many constraints nothing else."""
    rows = by_weight(row_now(row) for row in document.constraints)
    if len(rows) > _MOST_HELD and not page.all_rows:
        rows = [row for row in rows if row.is_broken]
    return SpreadBlock(("now",), tuple(rows), page.everything)


def _surplus(document: CheckReport) -> int:
    """The pods too many of all constraints that must hold."""
    return sum(sum(row.excess.values()) for row in document.constraints if is_hard(row))


def _remedy(document: CheckReport) -> Sentence | None:
    """How pods that are too many compare with moves."""
    if _surplus(document) < _SEVERAL:
        return None
    return Sentence(
        "Each domain is compared with the emptiest one, so moving one pod there may repair several: "
        f"`planner{JOINT}rebalance` finds the fewest moves."
    )


def _findings(findings: tuple[Finding, ...], page: Page) -> Table:
    heads = ("NAMESPACE", "NAME", "NODE", "PLUGIN", "MESSAGE")
    rows = []
    for finding in findings:
        namespace, _, name = finding.pod.rpartition("/")
        rows.append([namespace, name, finding.node, finding.plugin, finding.message])
    shown = rows_of([[cell or "<none>" for cell in row] for row in rows])
    return Table(heads, shown, noun="finding", most=page.many)


def _verdict(document: CheckReport) -> VerdictBlock:
    """`3 constraints hold, 1 does not.`"""
    broken = [row for row in document.constraints if is_hard(row) and not row.ok]
    missed = sum(not is_hard(row) and not row.ok for row in document.constraints)
    parts = [_held(len(document.constraints) - len(broken) - missed, len(broken))]
    if not document.constraints:
        parts = ["There are no topology spread constraints"]
    if broken:
        parts[0] += f": {counted(_surplus(document), 'pod')} too many"
    if missed:
        soft = f"{missed} ScheduleAnyway {_are(missed, 'constraint is', 'constraints are')}"
        parts.append(f"{soft} exceeded, which is allowed")
    if document.findings:
        parts.append(counted(len(document.findings), "other finding"))
    if document.pending:
        have = _are(document.pending, "is pending and is", "are pending and are")
        parts.append(f"{counted(document.pending, 'pod')} {have} not counted")
    return VerdictBlock("; ".join(parts) + ".", "bad" if document.violations else "good")


def _held(held: int, broken: int) -> str:
    holding = f"{counted(held, 'constraint')} {_are(held, 'holds', 'hold')}"
    if broken and held:
        return f"{holding}, {broken} {_are(broken, 'does', 'do')} not"
    if broken:
        return f"{counted(broken, 'constraint')} {_are(broken, 'does', 'do')} not hold"
    return holding if held else "No constraint is broken"


def _are(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
