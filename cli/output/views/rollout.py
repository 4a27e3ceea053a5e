"""A Rollout: does it complete, how it may end, where it stops and what would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from cli.output.blocks import Block, Cell, Section, Sentence, Table, VerdictBlock, Words, rows_of, section
from cli.output.page import Page, counted
from cli.output.table import JOINT
from cli.output.views.explanation import fix_blocks
from cli.output.views.names import workload_line
from cli.output.views.spread import short_key
from cli.output.views.verdict import told
from models.words import value_told
from planner.documents.rollout import Rollout, RolloutEnd, WorkloadRollout

#: Ways to end are shown up to so many letters, and domains up to so many and so many letters, before the
#: rest is summed up.
_MOST_LETTERS = 120
_MOST_DOMAINS = 12
_MOST_DOMAIN_LETTERS = 200
#: A shorter part is not folded.
_PART = 40
_AS_BEFORE = " with no constraint more broken than before"


def sections(document: Rollout, page: Page) -> Iterator[Section]:
    """The rollout as a person reads it."""
    yield section("", _verdict(document))
    yield from workloads(document.workloads, page)
    yield section("Constraints that end more broken than before", *_broken(document))
    yield section("What helps", *_fixes(document, page))


def _fixes(document: Rollout, page: Page) -> Iterator[Block]:
    for number, fix in enumerate(document.fixes, start=1):
        if number == 1:
            yield Sentence(f"Each of these lets every run complete{_AS_BEFORE}:")
        yield from fix_blocks(number, fix, page)
    if not document.fixes and (document.broken or not document.completes):
        yield Sentence(f"No change that was tried lets every run complete{_AS_BEFORE}.")


def names(document: Rollout) -> Iterator[str]:
    """The workloads that do not complete, or end with a constraint more broken than before."""
    found = [
        (row.namespace, row.workload) for row in document.workloads if not (row.completes or row.as_before)
    ]
    found += [(row.namespace, row.workload) for row in document.broken]
    for namespace, workload in dict.fromkeys(found):
        yield workload_line(namespace, workload)


def workloads(found: Sequence[WorkloadRollout], page: Page) -> Iterator[Section]:
    """A row for every workload, and below them where and why some stop."""
    heads = ("NAMESPACE", "WORKLOAD", "COMPLETES", "STEPS", "LEAST READY", "ENDS")
    rows: list[list[Words]] = [
        [
            row.namespace,
            row.workload,
            _completes(row),
            str(len(row.steps)),
            _least_ready(row),
            ends_of(row.ends, page),
        ]
        for row in found
    ]
    yield section("Workloads", Table(heads, rows_of(rows), noun="workload"))
    for row in found:
        yield section(f"The steps of {row.workload}", *_steps(row, page))
        yield section(f"Where {row.workload} stops", *_stop(row))


def _completes(row: WorkloadRollout) -> Cell:
    """Of a workload that the apply does not change and that lacked pods before, that is no fault of it."""
    if row.completes:
        return Cell("yes", "good")
    return Cell("no, as before") if row.as_before else Cell("no", "bad")


def _least_ready(row: WorkloadRollout) -> str:
    """`3, mostly 5`: of the worst draw, and of the middle one."""
    worst, median = row.least_ready, row.least_ready_median
    return str(worst) if worst == median else f"{worst}, mostly {median}"


def ends_of(ends: Sequence[RolloutEnd], page: Page) -> str:
    """`zone a 2, b 1 (19 of 21); ...`."""
    texts: Counter[str] = Counter()
    for end in ends:
        texts[_end(end, page)] += end.runs
    parts = [_of_runs(text, runs, texts.total()) for text, runs in texts.most_common()]
    lengths = accumulate(map(len, parts))
    shown = len(parts) if page.everything else max(1, sum(length <= _MOST_LETTERS for length in lengths))
    if shown < len(parts):
        parts[shown:] = [f"{len(parts) - shown} more (-v shows all)".replace(" ", JOINT)]
    return "; ".join(parts)


def _end(end: RolloutEnd, page: Page) -> str:
    parts = [f"{short_key(key)} {_domains(pods, page)}" for key, pods in end.domains.items() if pods]
    return " / ".join(parts) or "<none>"


def _of_runs(text: str, runs: int, of: int) -> str:
    """The end with the number of runs that end so, where others end in another way."""
    told = text if runs == of else f"{text} ({runs} of {of})"
    return told.replace(" ", JOINT) if len(told) < _PART else told


def _domains(pods: Mapping[str, int], page: Page) -> str:
    told = ", ".join(f"{value_told(domain)}{JOINT}{number}" for domain, number in pods.items())
    if page.everything or (len(pods) <= _MOST_DOMAINS and len(told) <= _MOST_DOMAIN_LETTERS):
        return told
    fewest, most = min(pods.values()), max(pods.values())
    each = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"{len(pods)} domains, {each} each"


def _steps(row: WorkloadRollout, page: Page) -> Iterator[Block]:
    """The steps, where everything is wanted."""
    if page.everything and row.steps:
        yield Sentence(f"{row.workload} in {row.namespace}, replicas set after each step:")
        steps = [[str(n), str(s.old), str(s.new), str(s.ready)] for n, s in enumerate(row.steps, start=1)]
        yield Table(("STEP", "OLD", "NEW", "READY"), rows_of(steps), noun="step")


def _stop(row: WorkloadRollout) -> Iterator[Block]:
    """After which step it stops, and why."""
    if row.completes or row.as_before:
        return
    runs = sum(end.runs for end in row.ends)
    stopped = sum(end.runs for end in row.ends if not end.completes)
    at = f" after step {row.stopped_at}" if row.stopped_at else " before its first step"
    yield Sentence(f"{row.workload} in {row.namespace} stops{at} in {stopped} of {counted(runs, 'run')}:")
    yield told(row.message) if row.message else Sentence("its pods do not become ready", indent=2)
    others = sum(sum(end.messages.values()) - end.messages.get(row.message, 0) for end in row.ends)
    if row.message and others:
        yield Sentence(f"In {counted(others, 'run')} the scheduler's line is another one (-o json has all).")
    if row.gives_up_after is not None:
        name = row.workload.partition("/")[2]
        yield Sentence(
            f"After {row.gives_up_after} s without progress kubectl rollout status ends with: "
            f'deployment "{name}" exceeded its progress deadline',
            indent=2,
        )


def _broken(document: Rollout) -> Iterator[Block]:
    for row in document.broken:
        yield Sentence(
            f"{row.workload} in {row.namespace}: its DoNotSchedule constraint over "
            f"{short_key(row.topology_key)} ends with up to {counted(row.excess, 'pod')} too many in "
            f"{row.runs} of {counted(document.replays.runs, 'run')}."
        )


def _verdict(document: Rollout) -> VerdictBlock:
    found = document.replays
    if document.completes and found.held == found.runs:
        return VerdictBlock(f"Completes in all of {counted(found.runs, 'run')}.", "good")
    lopsided = found.runs - found.held
    parts = [f"Completes in {found.completed} of {counted(found.runs, 'run')}"]
    if lopsided:
        ends = "ends" if lopsided == 1 else "end"
        parts.append(f"{lopsided} {ends} with a constraint more broken than before")
    return VerdictBlock("; ".join(parts) + ".", "bad")
