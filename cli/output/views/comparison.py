"""A Comparison: kube-scheduler on the left, the best plan on the right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cli.output.blocks import Cell, Section, Sentence, SpreadBlock, Table, Tone, VerdictBlock, Words, section
from cli.output.page import Page, counted
from cli.output.views.names import pod_line
from cli.output.views.spread import row_compared
from cli.output.views.stages import in_words
from planner.documents.comparison import Comparison, DeschedulerRun, DomainPods, Repair, RepairComparison
from planner.problem.requests import PODS

#: Of more constraints only those are told that differ most.
_MOST_CONSTRAINTS = 20


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure of both sides; a difference of the sign of `better` is for the better, if it is not 0."""

    label: str
    theirs: float
    ours: float
    better: int = 0
    unit: str = ""


#: A constraint as the snapshot has it, after kube-scheduler and in the plan.
_Three = tuple[DomainPods, DomainPods, DomainPods]


def sections(document: Comparison, page: Page) -> Iterator[Section]:
    """The comparison as a person reads it."""
    yield section("", _verdict(document))
    if document.repair is not None and _is_anything_done(document.repair):
        yield section("Repair", _repair(document.repair))
    if document.before.pods:
        figures = [*_placed(document), *_nodes(document, page), *_over(document)]
        heads = ("FIGURE", "KUBE-SCHEDULER", _plan(document), "DIFFERENCE")
        yield section("Figures", Table(heads, tuple(_cells(row) for row in figures), noun="figure"))
        yield from _spread(document, page)
        if page.everything:
            yield section("Proof", in_words(document.optimal.objective))


def names(document: Comparison) -> Iterator[str]:
    """The pods that even the best plan leaves over."""
    return (pod_line(pod) for pod in document.optimal.unplaced)


def _plan(document: Comparison) -> str:
    return "OPTIMUM" if document.optimal.status == "Optimal" else "BEST FOUND"


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


def _over(document: Comparison) -> Iterator[_Row]:
    """Constraints over maxSkew, where there is one."""
    sides = (document.kube_scheduler.spread, document.optimal.spread)
    theirs, ours = (sum(row.skew > row.max_skew for row in side) for side in sides)
    if theirs or ours:
        yield _Row(f"constraints over maxSkew, of {len(sides[0])}", theirs, ours, -1)


def _spread(document: Comparison, page: Page) -> Iterator[Section]:
    """The constraints that the batch has to do with, those that differ most first."""
    rows = [
        *zip(document.before.spread, document.kube_scheduler.spread, document.optimal.spread, strict=True)
    ]
    touched = rows if page.everything else sorted(filter(_is_touched, rows), key=_weight)
    most = len(touched) if page.all_rows else _MOST_CONSTRAINTS
    shown = tuple(row_compared(*row) for row in touched[:most])
    more = None
    if len(touched) > most:
        more = Sentence(f"and {counted(len(touched) - most, 'constraint')} more (-v shows all)")
    states = ("now", "kube-scheduler", _plan(document).lower())
    yield section("Spread", SpreadBlock(states, shown, page.everything), more)


def _is_touched(row: _Three) -> bool:
    """Whether either side brings pods that the constraint counts."""
    before, theirs, ours = row
    return before.domains != theirs.domains or before.domains != ours.domains


def _weight(row: _Three) -> tuple[int, int]:
    """How much the two sides differ, as a key that puts the largest difference first."""
    _, theirs, ours = row
    moved = sum(abs(pods - theirs.domains[domain]) for domain, pods in ours.domains.items())
    return -abs(ours.skew - theirs.skew), -moved


def _cells(row: _Row) -> tuple[Words, ...]:
    difference = round(row.ours - row.theirs, 1)
    tone: Tone = "good" if difference * row.better > 0 else "warning"
    shown = f"{difference:+}" if difference else "0"
    return (
        row.label,
        f"{row.theirs}{row.unit}",
        f"{row.ours}{row.unit}",
        Cell(shown, tone if difference * row.better else "plain"),
    )


def _verdict(document: Comparison) -> VerdictBlock:
    """`4 more pods placed than by kube-scheduler: all 9 of them.`"""
    if document.repair is not None and _is_anything_done(document.repair):
        return _verdict_of_repair(document.repair)
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
    return VerdictBlock(f"{sentence}.", "bad" if left else "good")


def _is_anything_done(repair: RepairComparison) -> bool:
    """Whether there is something to repair, or Descheduler evicts pods although there is not."""
    return bool(repair.before.hard_excess or repair.optimal.evictions or _runs(repair)[0].rounds)


def _runs(repair: RepairComparison) -> list[DeschedulerRun]:
    """All runs of Descheduler, the one with the most evictions first."""
    return sorted((repair.descheduler, *repair.draws), key=lambda run: -run.evictions)


def _repair(repair: RepairComparison) -> Table:
    """NOW is what kube-scheduler alone leaves as it is, as it moves no running pod."""
    best = "OPTIMUM" if repair.optimal.proved else "BEST FOUND"
    heads = ("FIGURE", "NOW", "DESCHEDULER", f"{len(repair.draws)} DRAWN", best)
    labels = {
        "evictions": "pods evicted",
        "rounds": "rounds, or waves",
        "hard_violations": "domains over maxSkew",
        "hard_excess": "pods too many there",
        "pending": "pods pending",
    }
    rows = [tuple(_repair_cells(repair, field, label)) for field, label in labels.items()]
    return Table(heads, tuple(rows), noun="figure")


def _repair_cells(repair: RepairComparison, field: str, label: str) -> Iterator[Words]:
    """A figure in all columns; of the draws the least and the most."""
    drawn = [_figure(run, field) for run in repair.draws]
    yield label
    yield str(_figure(repair.before, field))
    yield str(_figure(repair.descheduler, field))
    yield str(drawn[0]) if len({*drawn}) == 1 else f"{min(drawn)} to {max(drawn)}"
    yield str(_figure(repair.optimal, field))


def _figure(repair: Repair, field: str) -> int:
    number: int = getattr(repair, field)
    return number


def _verdict_of_repair(repair: RepairComparison) -> VerdictBlock:
    """`16 moves in 4 waves where Descheduler evicts 27 to 55 pods.`"""
    runs, best = _runs(repair), repair.optimal
    least, most = runs[-1].evictions, runs[0].evictions
    evicted = counted(most, "pod") if least == most else f"{least} to {counted(most, 'pod')}"
    moves = f"{counted(best.evictions, 'move').capitalize()}"
    waves = f" in {counted(best.rounds, 'wave')}" if best.rounds else ""
    sentence = f"{moves}{waves} where Descheduler evicts {evicted}"
    left_over = max(run.hard_excess for run in runs)
    if left_over > best.hard_excess:
        sentence += f" and leaves up to {left_over} too many"
    restless = sum(run.ending != "AtRest" for run in runs)
    if restless:
        sentence += f", and comes to no rest in {restless} of {counted(len(runs), 'run')}"
    if best.hard_excess:
        left = counted(best.hard_excess, "pod")
        sentence += f"; {left} too many {'even after them' if best.evictions else 'as now'}"
    return VerdictBlock(f"{sentence}.", "bad" if best.hard_excess else "good")
