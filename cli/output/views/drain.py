"""A DrainPlan: the nodes in their order, where the pods go, and what is in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cli.output.blocks import Block, Section, Sentence, Table, VerdictBlock, rows_of, section
from cli.output.page import MANY_ROWS, Page, counted
from cli.output.staying_pods import alike, staying
from cli.output.views.explanation import fix_blocks
from cli.output.views.verdict import paragraphs
from planner.documents.drain import BlockedNode, DrainedJob, DrainPlan, DrainStep, StayingPod
from planner.documents.explanation import Fix

#: So many nodes that pods of one node go to are named.
_MOST_NAMES = 4


def sections(document: DrainPlan, page: Page) -> Iterator[Section]:
    """The plan as a person reads it."""
    yield section("", _verdict(document))
    for row in document.blocked:
        yield section(f"What holds {row.node}", *_blocked(row, page))
    yield section("Waves", _steps(document, page))
    yield section("", *_waves(document))
    if document.jobs:
        yield section("Jobs", _jobs(document, page))
    yield section("Why pods stay pending", *paragraphs(document.pending, page))


def names(document: DrainPlan) -> Iterator[str]:
    """The nodes in the order in which they are drained."""
    return (f"node/{step.node}" for step in document.steps)


def _steps(document: DrainPlan, page: Page) -> Table:
    rows = [
        [str(step.wave), step.node, str(len(step.evictions)), _lands(step, page)] for step in document.steps
    ]
    most = None if page.all_rows else MANY_ROWS
    heads = ("WAVE", "NODE", "EVICTIONS", "LANDS")
    return Table(heads, rows_of(rows), noun="node", most=most, source="steps")


def _waves(document: DrainPlan) -> Iterator[Block]:
    """What a wave is, where there are several."""
    if len({step.wave for step in document.steps}) > 1:
        yield Sentence(
            "Nodes of a wave are drained together (--at-once); the next begins when what was evicted is "
            "ready again. A node comes in the wave in which its last pod may go."
        )


def _jobs(document: DrainPlan, page: Page) -> Table:
    rows = [[f"{row.namespace}/{row.job}", str(row.evictions), _outcome(row)] for row in document.jobs]
    most = None if page.all_rows else MANY_ROWS
    return Table(("JOB", "EVICTIONS", "OUTCOME"), rows_of(rows), noun="Job", most=most, source="jobs")


def _outcome(row: DrainedJob) -> str:
    if row.outcome == "KeepsRunning":
        return "keeps running: its podFailurePolicy ignores evictions"
    if row.outcome == "Fails":
        return f"FAILS ({row.reason})"
    return f"loses retries: {row.retries_left} of {row.retries} left"


def _lands(step: DrainStep, page: Page) -> str:
    """`b1 3, b2 1`: how many go where; every pod with its node when everything is wanted."""
    if page.everything:
        return ", ".join(f"{row.pod} -> {row.lands or '<none>'}" for row in step.evictions)
    found = Counter(row.lands or "<none>" for row in step.evictions).most_common()
    parts = [f"{node} {pods}" for node, pods in found[:_MOST_NAMES]]
    more = len(found) - len(parts)
    return ", ".join([*parts, *([f"{counted(more, 'node')} more"] if more else [])])


def _blocked(row: BlockedNode, page: Page) -> Iterator[Block]:
    """The pods that stay, those with the same cause together, and what frees the node, or else each pod."""
    told = row.pod if len(row.pods) == 1 else counted(len(row.pods), "pod")
    yield Sentence(f"{row.node} is not emptied: {told} stay{'s' if len(row.pods) == 1 else ''}.", "bad")
    groups = sorted(alike(row), key=lambda several: _is_unhelped(row, several[0]))
    for several in groups:
        yield Sentence(several[0].message if len(row.pods) == 1 else staying(several), indent=2)
        if not row.fixes:
            yield from _fixes(several[0].fixes, page)
    yield from _fixes(row.fixes, page)
    if any(_is_unhelped(row, several[0]) for several in groups):
        yield Sentence(
            "Neither one more replica nor a budget that lets one more pod go changes that.", indent=2
        )


def _is_unhelped(row: BlockedNode, pod: StayingPod) -> bool:
    """Whether a budget keeps a pod on the node, and no change that was tried out lets it go."""
    return pod.reason == "Budget" and not (row.fixes or pod.fixes)


def _fixes(fixes: Sequence[Fix], page: Page) -> Iterator[Block]:
    for number, fix in enumerate(fixes, start=1):
        yield from fix_blocks(number, fix.model_copy(update={"node": ""}), page)


def _verdict(document: DrainPlan) -> VerdictBlock:
    emptied = len(document.nodes) - len(document.blocked)
    waves = len({step.wave for step in document.steps})
    moved = sum(len(step.evictions) for step in document.steps)
    told = f"{emptied} of {counted(len(document.nodes), 'node')} emptied in {counted(waves, 'wave')}"
    parts = [told, counted(moved, "eviction")]
    back = sum(row.lands in document.nodes for step in document.steps for row in step.evictions)
    if back:
        parts.append(f"{counted(back, 'pod')} back on them")
    pending = document.new_pending
    over = sum(row.excess_after - row.excess_before for row in document.worse)
    if pending:
        were = "was" if pending == 1 else "were"
        parts.append(f"{counted(pending, 'pod')} pending that {were} not before")
    if over:
        parts.append(f"DoNotSchedule constraints worse by {counted(over, 'pod')}")
    failing = sum(row.outcome == "Fails" for row in document.jobs)
    if failing:
        parts.append(f"{counted(failing, 'Job')} {'fails' if failing == 1 else 'fail'}")
    well = not failing and document.played_to_end and emptied == len(document.nodes)
    well = well and not pending and not over
    return VerdictBlock("; ".join(parts) + ".", "good" if well else "bad")
