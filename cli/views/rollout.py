"""A Rollout: does it complete, how it may end, where it stops and what would help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cli.page import Page, counted
from cli.table import JOINT, folded, table
from cli.views.explanation import fix_lines
from cli.views.spread import short_key
from planner.documents.rollout import Rollout, RolloutEnd, WorkloadRollout

#: So many ways to end, and so many domains, are shown before the rest is summed up.
_MOST_ENDS = 4
_MOST_DOMAINS = 12


def lines(document: Rollout, page: Page) -> Iterator[str]:
    """The rollout as a person reads it."""
    yield from workloads(document.workloads, page)
    yield ""
    yield from _broken(document, page)
    for number, fix in enumerate(document.fixes, start=1):
        if number == 1:
            yield "Each of these lets every draw complete with all constraints held:"
        yield from fix_lines(number, fix, page)
    if not document.fixes and (document.broken or not document.completes):
        yield "No change that was tried lets every draw complete with all constraints held."
    well = document.completes and not document.broken
    yield from () if well else ("",)
    yield _summary(document, page)


def names(document: Rollout) -> Iterator[str]:
    """The workloads that do not complete, or end with a constraint broken."""
    found = [(row.namespace, row.workload) for row in document.workloads if not row.completes]
    found += [(row.namespace, row.workload) for row in document.broken]
    for namespace, workload in dict.fromkeys(found):
        kind, _, name = workload.partition("/")
        yield f"{kind.lower()}/{namespace}/{name}"


def workloads(found: Sequence[WorkloadRollout], page: Page) -> Iterator[str]:
    """A row for every workload, and below them where and why some stop."""
    heads = ("NAMESPACE", "WORKLOAD", "COMPLETES", "STEPS", "LEAST READY", "ENDS")
    rows = [
        [
            row.namespace,
            row.workload,
            page.screen.paint("yes", "green") if row.completes else page.screen.paint("no", "red"),
            str(len(row.steps)),
            str(row.least_ready),
            _ends(row, page),
        ]
        for row in found
    ]
    yield from table(heads, rows, page.screen)
    for row in found:
        story = list(_story(row, page))
        yield from ("", *story) if story else ()


def _ends(row: WorkloadRollout, page: Page) -> str:
    """`zone a 2, b 1 (19 of 21); ...`."""
    runs = sum(end.runs for end in row.ends)
    shown = row.ends if page.everything else row.ends[:_MOST_ENDS]
    parts = [_end(end, runs if len(row.ends) > 1 else 0, page) for end in shown]
    if len(shown) < len(row.ends):
        parts.append(f"{len(row.ends) - len(shown)} more")
    return "; ".join(parts)


def _end(end: RolloutEnd, runs: int, page: Page) -> str:
    keys = [f"{short_key(key)} {_domains(pods, page)}" for key, pods in end.domains.items()]
    text = f"{' / '.join(keys)}{f' ({end.runs} of {runs})' if runs else ''}"
    return text.replace(" ", JOINT) if len(text) < _part_width(page) else text


def _part_width(page: Page) -> int:
    """How long a part may be that is not to be folded."""
    return 40 if page.screen.width is None else page.screen.width // 2


def _domains(pods: Mapping[str, int], page: Page) -> str:
    if len(pods) > _MOST_DOMAINS and not page.everything:
        return f"{len(pods)} domains, {min(pods.values())} to {max(pods.values())} each"
    return ", ".join(f"{domain} {number}" for domain, number in pods.items())


def _story(row: WorkloadRollout, page: Page) -> Iterator[str]:
    """The steps where they are wanted, and where and why it stops."""
    if page.everything and row.steps:
        yield f"{row.workload} in {row.namespace}, asked for after every step:"
        steps = [[str(n), str(s.old), str(s.new), str(s.ready)] for n, s in enumerate(row.steps, start=1)]
        yield from table(("STEP", "OLD", "NEW", "READY"), steps, page.screen)
    if row.completes:
        return
    runs = sum(end.runs for end in row.ends)
    stopped = sum(end.runs for end in row.ends if not end.completes)
    at = f" after step {row.stopped_at}" if row.stopped_at else " before its first step"
    yield f"{row.workload} in {row.namespace} stops{at} in {stopped} of {counted(runs, 'run')}:"
    width = None if page.screen.width is None else page.screen.width - 2
    yield from (f"  {line}" for line in folded(row.message or "its pods do not become ready", width))


def _broken(document: Rollout, page: Page) -> Iterator[str]:
    for row in document.broken:
        pods = counted(row.excess, "pod")
        sentence = (
            f"{row.workload} in {row.namespace}: its DoNotSchedule constraint over "
            f"{short_key(row.topology_key)} ends with up to {pods} too many in {row.runs} of "
            f"{counted(document.replays.runs, 'run')}."
        )
        yield from folded(sentence, page.screen.width)
    yield from ("",) if document.broken else ()


def _summary(document: Rollout, page: Page) -> str:
    found = document.replays
    if document.completes and found.held == found.runs:
        return page.screen.paint(f"Completes in all of {counted(found.runs, 'run')}.", "green")
    lopsided = found.runs - found.held
    parts = [f"Completes in {found.completed} of {counted(found.runs, 'run')}"]
    if lopsided:
        parts.append(f"{lopsided} {'ends' if lopsided == 1 else 'end'} with a constraint broken")
    return page.screen.paint("; ".join(parts) + ".", "red")
