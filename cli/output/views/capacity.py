"""A Capacity: a row for every workload, those with the least room first, and what stops the next replica."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.output.blocks import Block, Cell, Section, Sentence, Table, VerdictBlock, Words, rows_of, section
from cli.output.page import Page, counted
from cli.output.views.names import workload_line
from cli.output.views.verdict import told
from models.words import value_told
from planner.documents.capacity import AutoscalerCapacity, Capacity, SetCapacity, WorkloadCapacity

#: Of more workloads the lines of the scheduler are left out; so many lines about autoscalers.
_MOST_TOLD, _MOST_LINES = 1, 3
#: So many workloads are shown; -v shows all.
_MOST_ROWS = 20


def sections(document: Capacity, page: Page) -> Iterator[Section]:
    """The answer as a person reads it."""
    yield section("", *_verdict(document))
    most = None if page.all_rows else _MOST_ROWS
    heads = ("NAMESPACE", "WORKLOAD", "REPLICAS", "MORE", *_columns(document), "LIMITED BY")
    rows = rows_of([_row(document, row) for row in document.workloads])
    yield section("Workloads", Table(heads, rows, noun="workload", most=most))
    explained = document.workloads if page.everything or len(document.workloads) <= _MOST_TOLD else ()
    for row in explained:
        if row.message:
            lead = Sentence(f"Replica {row.replicas + row.more + 1} of {row.workload} in {row.namespace}:")
            yield section("", lead, told(row.message), *_evicting(row.limited_by))
    yield from _sets(document)
    yield from _autoscalers(document)


def names(document: Capacity) -> Iterator[str]:
    """The workloads with room for no more, and those whose autoscaler cannot get to its maximum."""
    yield from (workload_line(row.namespace, row.workload) for row in document.workloads if not row.more)
    yield from (workload_line(row.namespace, row.workload) for row in document.autoscalers if row.pending)


def _verdict(document: Capacity) -> Iterator[Block]:
    """What is short first, then the copies; the workloads where nothing else is to be said."""
    short, many = sum(bool(row.pending) for row in document.autoscalers), len(document.autoscalers)
    drawn = sum(bool(row.failing_draws) for row in document.autoscalers)
    found = document.sets
    if short or drawn:
        together = "" if many == 1 else " together with the others"
        of = counted(many, "autoscaler")
        lost, only = _lost(document), "" if short else " only as ties go here"
        can = f"{short} of {of} cannot" if short else f"{drawn} of {of} can"
        text = f"{can} be at the maximum{together}{lost}{only}."
        yield VerdictBlock(text, "bad" if short else "warning")
    if found is not None:
        fewer = found.fewest is not None and found.fewest < found.more
        ties = f", as ties go here: with others for {found.fewest or 'none'}" if fewer else ""
        lost = "" if found.lost is None else f" when {value_told(found.lost)} is lost"
        text = f"There is {_copies(found)}{lost}{ties}."
        good = found.more and not fewer
        yield Sentence(text) if short or drawn else VerdictBlock(text, "good" if good else "warning")
    elif not (short or drawn):
        yield _of_workloads(document)


def _copies(found: SetCapacity) -> str:
    pods = counted(found.pods, "pod")
    if found.exact and not found.more:
        return f"no room for a copy of {pods}"
    copies = f"{found.more} {'copy' if found.more == 1 else 'copies'}"
    return f"room for {'' if found.exact else 'at least '}{copies} of {pods} each"


def _lost(document: Capacity) -> str:
    return f" when any one domain of {document.survive} is lost" if document.survive else ""


def _of_workloads(document: Capacity) -> VerdictBlock:
    if not document.workloads:
        nothing = "here has a number of replicas to raise" if not document.cut else "was counted"
        return VerdictBlock(f"No workload {nothing}.", "warning")
    lost = _lost(document)
    ties = _as_ties_go(document)
    if len(document.workloads) == 1:
        (row,) = document.workloads
        at_least = "" if row.limited_by else "at least "
        more = f"{at_least}{counted(row.more, 'more replica')}" if row.more else "no more replicas"
        good = row.more and not ties
        return VerdictBlock(f"{row.workload} has room for {more}{lost}{ties}.", "good" if good else "warning")
    none = sum(not row.more for row in document.workloads)
    if none:
        of = f"{counted(len(document.workloads), 'workload')} {'has' if none == 1 else 'have'}"
        return VerdictBlock(f"{none} of {of} no room for another replica{lost}{ties}.", "warning")
    more = counted(document.workloads[0].more, "more replica")
    counted_only = " that was counted" if document.cut else ""
    text = f"Every workload{counted_only} has room for at least {more}{lost}{ties}."
    return VerdictBlock(text, "warning" if ties else "good")


def _as_ties_go(document: Capacity) -> str:
    """That there is less room when other nodes of the same score are chosen, if that was found out."""
    less = [row for row in document.workloads if row.fewest is not None]
    if not less:
        return ""
    if len(less) > 1:
        return f", as ties go here: with others {len(less)} have less (FEWEST)"
    return f", as ties go here: with others {less[0].workload} has room for {less[0].fewest or 'none'}"


def _columns(document: Capacity) -> tuple[str, ...]:
    lost = ("WITHOUT",) if document.survive else ()
    drawn = ("FEWEST",) if any(row.fewest is not None for row in document.workloads) else ()
    best = ("BEST", "BOUND") if any(row.best is not None for row in document.workloads) else ()
    return (*drawn, *lost, *best)


def _row(document: Capacity, row: WorkloadCapacity) -> list[Words]:
    columns = _columns(document)
    lost = ["" if row.lost is None else value_told(row.lost)] if "WITHOUT" in columns else []
    best = [str(v) if v is not None else "?" for v in (row.best, row.bound)] if "BEST" in columns else []
    more = Cell(str(row.more), "plain" if row.more else "warning")
    fewest = [str(row.more if row.fewest is None else row.fewest)] if "FEWEST" in columns else []
    limits = ", ".join(row.limited_by)
    return [row.namespace, row.workload, str(row.replicas), more, *fewest, *lost, *best, limits]


def _sets(document: Capacity) -> Iterator[Section]:
    """What stops the next copy."""
    found = document.sets
    if found is not None and found.message:
        refused_by = f" ({', '.join(found.limited_by)})" if found.limited_by else ""
        lead = Sentence(f"Of copy {found.more + 1} {found.pod} has no node{refused_by}:")
        yield section("", lead, told(found.message), *_evicting(found.limited_by))


def _evicting(limited_by: Sequence[str]) -> Iterator[Sentence]:
    """That the next one gets a node, but not without evicting others."""
    if "Preemption" in limited_by:
        yield Sentence("it would get a node by evicting pods of a lower priority", indent=2)


def _autoscalers(document: Capacity) -> Iterator[Section]:
    without = ("WITHOUT",) if document.survive else ()
    heads = ("NAMESPACE", "AUTOSCALER", "WORKLOAD", "MAXIMUM", "PENDING", "ALONE", *without)
    rows = rows_of([_scaler(row) for row in document.autoscalers])
    yield section("All autoscalers at their maximum", Table(heads, rows, noun="autoscaler"))
    waiting = {row.message: row for row in reversed(document.autoscalers) if row.message}
    for message, row in [*reversed(waiting.items())][:_MOST_LINES]:
        stay = "stays" if row.pending == 1 else "stay"
        pods = f"{counted(row.pending, 'pod')} of {row.workload} in {row.namespace}"
        lead = Sentence(f"{pods} {stay} pending:")
        yield section("", lead, told(message))


def _scaler(row: AutoscalerCapacity) -> list[Words]:
    pending = Cell(str(row.pending), "bad" if row.pending else "plain")
    alone = Cell(str(row.alone), "bad" if row.alone else "plain")
    without = [] if row.lost is None else [value_told(row.lost)]
    return [row.namespace, row.name, row.workload, str(row.max_replicas), pending, alone, *without]
