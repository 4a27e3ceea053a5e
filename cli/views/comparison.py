"""A Comparison: one table, kube-scheduler on the left, the best plan on the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from cli.page import Page, counted
from cli.screen import Colour
from cli.table import elided, folded, table
from cli.views.spread import short_key
from planner.documents.comparison import Comparison, DomainCounts
from planner.problem.requests import PODS

#: So many constraints and domains are told one by one, unless everything is wanted.
_MOST_CONSTRAINTS, _MOST_DOMAINS = 5, 6
#: What the three columns of figures take of a narrow screen.
_FIGURES = 45


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure of both sides; a difference of the sign of `better` is for the better, if it is not 0."""

    label: str
    theirs: float
    ours: float
    better: int = 0
    unit: str = ""


#: A figure, or a line above figures.
_Line = _Row | str
#: A constraint as the snapshot has it, after kube-scheduler and in the plan.
_Three = tuple[DomainCounts, DomainCounts, DomainCounts]


def lines(document: Comparison, page: Page) -> Iterator[str]:
    """The comparison as a person reads it."""
    if document.before.pods:
        found = chain(_placed(document), _nodes(document, page), _spread(document, page))
        yield from _table(list(found), document, page)
        yield ""
    yield from _sentence(document, page)


def names(document: Comparison) -> Iterator[str]:
    """The pods that even the best plan leaves over."""
    return (f"pod/{pod}" for pod in document.optimal.unplaced)


def _placed(document: Comparison) -> Iterator[_Row]:
    """The pods placed: in all, with the luck of the draw, and by priority where there are several."""
    theirs, ours = document.kube_scheduler, document.optimal
    yield _Row(f"pods placed, of {theirs.pods}", theirs.placed, ours.placed, 1)
    replays = theirs.replays
    for name, replay in (("worst", replays.worst), ("median", replays.median), ("best", replays.best)):
        yield _Row(f"  {name} of {replays.runs} with ties drawn", replay.placed, ours.placed, 1)
    if len(theirs.by_priority) > 1:
        for left, right in zip(theirs.by_priority, ours.by_priority, strict=True):
            yield _Row(f"  priority {left.priority}, of {left.pods}", left.placed, right.placed, 1)


def _nodes(document: Comparison, page: Page) -> Iterator[_Row]:
    """Nodes used, and how full they are; what nearly all pods take one of is left out."""
    theirs, ours = document.kube_scheduler, document.optimal
    yield _Row(f"nodes used, of {theirs.nodes}", theirs.nodes_used, ours.nodes_used)
    for left, right in zip(theirs.utilisation, ours.utilisation, strict=True):
        if left.resource != PODS or page.everything:
            yield _Row(f"{left.resource} requested", left.mean_percent, right.mean_percent, unit="%")
            yield _Row("  on the fullest node", left.fullest_percent, right.fullest_percent, unit="%")


def _spread(document: Comparison, page: Page) -> Iterator[_Line]:
    """The constraints that the batch has to do with, those that differ most first."""
    rows = [
        *zip(document.before.spread, document.kube_scheduler.spread, document.optimal.spread, strict=True)
    ]
    over = [sum(row.skew > row.max_skew for row in side) for side in zip(*rows, strict=True)]
    if any(over[1:]):
        yield _Row(f"constraints over maxSkew, of {len(rows)}", over[1], over[2], -1)
    touched = [row for row in rows if page.everything or _is_touched(row)]
    shown = touched if page.everything else sorted(touched, key=_weight)[:_MOST_CONSTRAINTS]
    for row in shown:
        yield from _constraint(row, [other for other, _, _ in touched], page)
    if len(touched) > len(shown):
        rest = counted(len(touched) - len(shown), "more constraint")
        yield f"{rest} (-o wide has them all)"


def _is_touched(row: _Three) -> bool:
    """Whether either side brings pods that the constraint counts."""
    before, theirs, ours = row
    return before.domains != theirs.domains or before.domains != ours.domains


def _weight(row: _Three) -> tuple[int, int]:
    """How much the two sides differ, as a key that puts the largest difference first."""
    _, theirs, ours = row
    moved = sum(abs(pods - theirs.domains[domain]) for domain, pods in ours.domains.items())
    return -abs(ours.skew - theirs.skew), -moved


def _constraint(row: _Three, all_of_them: Sequence[DomainCounts], page: Page) -> Iterator[_Line]:
    """A line that says whose it is, its skew, and the pods of its domains."""
    before, theirs, ours = row
    yield _whose(before, all_of_them, page)
    yield _Row(f"  skew, maxSkew {before.max_skew}", theirs.skew, ours.skew, -1)
    if len(ours.domains) <= _MOST_DOMAINS or page.everything:
        for domain, pods in ours.domains.items():
            yield _Row(f"  {domain}", theirs.domains[domain], pods)
    else:
        for name, most in (("fewest", min), ("most", max)):
            label = f"  {name} in one of {len(ours.domains)} domains"
            yield _Row(label, most(theirs.domains.values()), most(ours.domains.values()))


def _whose(row: DomainCounts, rows: Sequence[DomainCounts], page: Page) -> str:
    """The selector is added where a workload has the same constraint for two sets of pods."""
    key = row.topology_key if page.everything else short_key(row.topology_key)
    alike = [(other.namespace, other.workload, other.topology_key) for other in rows]
    several = alike.count((row.namespace, row.workload, row.topology_key)) > 1
    of = f" of {row.selector}" if several else ""
    return f"{row.namespace} {row.workload} over {key}{of}, {row.when_unsatisfiable}"


def _table(found: Sequence[_Line], document: Comparison, page: Page) -> Iterator[str]:
    """The figures in columns; the other lines stand between them in full width."""
    width = page.screen.width
    cells = [_cells(line, page, width and width - _FIGURES) for line in found if isinstance(line, _Row)]
    plan = "OPTIMUM" if document.optimal.status == "Optimal" else "BEST FOUND"
    printed = table(("FIGURE", "KUBE-SCHEDULER", plan, "DIFFERENCE"), cells, page.screen)
    yield next(printed)
    for line in found:
        yield from folded(line, width) if isinstance(line, str) else [next(printed)]


def _cells(row: _Row, page: Page, width: int | None) -> list[str]:
    difference = round(row.ours - row.theirs, 1)
    shown = f"{difference:+}" if difference else "0"
    colour: Colour = "green" if difference * row.better > 0 else "yellow"
    return [
        elided(row.label, width),
        f"{row.theirs}{row.unit}",
        f"{row.ours}{row.unit}",
        page.screen.paint(shown, colour) if difference * row.better else shown,
    ]


def _sentence(document: Comparison, page: Page) -> Iterator[str]:
    """`4 more pods placed than by kube-scheduler: all 9 of them.`"""
    best, gain = document.optimal, document.difference.placed
    left = len(best.unplaced)
    if not best.pods:
        sentence = "No pods are pending"
    elif gain:
        more = "more pod" if gain > 0 else "fewer pod"
        sentence = f"{counted(abs(gain), more)} placed than by kube-scheduler"
    else:
        sentence = "As many pods placed as by kube-scheduler"
    if left and best.status == "Optimal":
        sentence += f", {left} left over: proved that no plan is better"
    elif left:
        sentence += f", {left} left over; a better plan is not ruled out"
    elif best.pods:
        sentence += f": all {best.pods} of them" if best.pods > 1 else ": the only one"
    for line in folded(f"{sentence}.", page.screen.width):
        yield page.screen.paint(line, "red" if left else "green")
