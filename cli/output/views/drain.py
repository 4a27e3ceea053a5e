"""A DrainPlan: the nodes in their order, where the pods go, and what is in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from cli.output.blocks import Block, Section, Sentence, Table, VerdictBlock, rows_of, section
from cli.output.page import Page, counted, some
from cli.output.staying_pods import Cause, causes
from cli.output.table import JOINT
from cli.output.views.explanation import fix_blocks
from cli.output.views.verdict import paragraphs
from planner.documents.drain import BlockedNode, DrainedJob, DrainPlan, DrainStep
from planner.documents.explanation import Fix

#: So many nodes that pods of one node go to are named, and only where so few nodes are drained.
_MOST_NAMES, _FEW_STEPS = 4, 5
#: So many causes for which pods stay are told.
_MOST_CAUSES = 8


def sections(document: DrainPlan, page: Page) -> Iterator[Section]:
    """The plan as a person reads it."""
    yield section("", _verdict(document))
    for number, blocks in enumerate(_causes(document.blocked, page)):
        yield section("" if number else "What stays on the nodes", *blocks)
    yield section("Waves", _steps(document, page))
    yield section("", *_waves(document, page))
    if page.all_rows:
        yield section("Evictions", _evictions(document))
    if document.jobs:
        yield section("Jobs", _jobs(document, page))
    yield section("Why pods stay pending", *paragraphs(document.pending, page))


def names(document: DrainPlan) -> Iterator[str]:
    """The nodes in the order in which they are drained."""
    return (f"node/{step.node}" for step in document.steps)


def _steps(document: DrainPlan, page: Page) -> Table:
    """A row for every node, those that are not drained at all in the end."""
    blocked = {row.node: len(row.pods) for row in document.blocked}
    drained = {step.node for step in document.steps}
    columns = ["WAVE", "NODE", "EVICTIONS"]
    columns += ["NO NODE"] if _without_node(document) else []
    columns += ["STAY"] if blocked else []
    columns += ["LANDS"] if len(document.steps) <= _FEW_STEPS else []
    told = [
        {
            "WAVE": str(step.wave),
            "NODE": step.node,
            "EVICTIONS": str(len(step.evictions)),
            "NO NODE": str(sum(row.lands is None for row in step.evictions)),
            "STAY": str(blocked.get(step.node, 0)),
            "LANDS": _lands(step, page),
        }
        for step in document.steps
    ]
    told += [
        {"WAVE": "-", "NODE": node, "EVICTIONS": "0", "NO NODE": "0", "STAY": str(stay), "LANDS": ""}
        for node, stay in blocked.items()
        if node not in drained
    ]
    rows = [[row[column] for column in columns] for row in told]
    return Table(tuple(columns), rows_of(rows), noun="node", most=page.many)


def _without_node(document: DrainPlan) -> bool:
    return any(row.lands is None for step in document.steps for row in step.evictions)


def _waves(document: DrainPlan, page: Page) -> Iterator[Block]:
    """What a wave is, where there are several, and what it means that an evicted pod has no node."""
    if len({step.wave for step in document.steps}) > 1:
        yield Sentence(
            "Nodes of a wave are drained together (--at-once); the next begins when what was evicted is "
            "ready again. A node comes in the wave in which its last pod may go."
        )
    if _without_node(document):
        yield Sentence("No node: the replacement stays pending, or nothing makes the pod again.")
    if len(document.steps) > _FEW_STEPS and not page.all_rows:
        yield Sentence("-v shows where every pod lands.")


def _evictions(document: DrainPlan) -> Table:
    rows = [
        [str(step.wave), step.node, row.pod, row.lands or "no node"]
        for step in document.steps
        for row in step.evictions
    ]
    return Table(("WAVE", "NODE", "POD", "LANDS"), rows_of(rows), noun="eviction")


def _jobs(document: DrainPlan, page: Page) -> Table:
    rows = [[f"{row.namespace}/{row.job}", str(row.evictions), _outcome(row)] for row in document.jobs]
    return Table(("JOB", "EVICTIONS", "OUTCOME"), rows_of(rows), noun="Job", most=page.many)


def _outcome(row: DrainedJob) -> str:
    if row.outcome == "KeepsRunning":
        return "keeps running: its podFailurePolicy ignores evictions"
    if row.outcome == "Fails":
        return f"FAILS ({row.reason})"
    return f"loses retries: {row.retries_left} of {row.retries} left"


def _lands(step: DrainStep, page: Page) -> str:
    """`b1 3, b2 1`: how many go where."""
    found = Counter(row.lands for row in step.evictions if row.lands is not None).most_common()
    shown = found if page.everything else found[:_MOST_NAMES]
    parts = [f"{node}{JOINT}{pods}" for node, pods in shown]
    more = len(found) - len(parts)
    return ", ".join([*parts, *([f"{counted(more, 'node')} more"] if more else [])])


def _causes(blocked: Sequence[BlockedNode], page: Page) -> Iterator[Iterable[Block]]:
    """What keeps nodes from becoming empty, a group of blocks for each cause: first where a change helps."""
    found = sorted(causes(blocked), key=lambda cause: (not _helping(cause), -len(cause.pods)))
    shown = found if page.all_rows else found[:_MOST_CAUSES]
    for cause in shown:
        yield _cause(cause, page)
    if rest := found[len(shown) :]:
        pods = counted(sum(len(cause.pods) for cause in rest), "more pod")
        yield [Sentence(f"{pods} with {counted(len(rest), 'other cause')} (-v shows all)")]


def _cause(cause: Cause, page: Page) -> Iterator[Block]:
    """The pods that stay, why, and what lets them go."""
    yield Sentence(f"{cause.subject}.", "bad")
    yield Sentence(cause.message, indent=2)
    if page.all_rows and len(cause.pods) > 1:
        rows = [[row.node, pod.pod] for row, pod in cause.staying]
        yield Table(("NODE", "POD"), rows_of(rows), noun="pod", indent=2)
    for number, fix in enumerate(_helping(cause), start=1):
        bare = fix.model_copy(update={"node": ""})
        yield from fix_blocks(number, bare, page, effect=_effect(fix, cause))
    unhelped = sum(pod.exhausted and not (row.fixes or pod.fixes) for row, pod in cause.staying)
    if unhelped:
        neither = "either one more replica nor a budget that lets one more pod go changes that."
        whom = "N" if unhelped == len(cause.pods) else f"For {unhelped} of these pods n"
        yield Sentence(whom + neither, indent=2)


def _helping(cause: Cause) -> list[Fix]:
    """The changes that let at least one of the pods go, each once."""
    return [*{_change(fix): fix for pod in cause.pods for fix in pod.fixes}.values()]


def _change(fix: Fix) -> Hashable:
    """What a fix changes, whatever node it is about."""
    return tuple((change.namespace, change.target, change.summary) for change in fix.changes)


def _effect(fix: Fix, cause: Cause) -> str:
    """How many of the pods a change lets go, and which nodes are empty then."""
    rows = [row.node for row, _ in cause.staying if _change(fix) in map(_change, row.fixes)]
    emptied, every = [*dict.fromkeys(rows)], len(cause.nodes)
    go = sum(_change(fix) in map(_change, pod.fixes) for pod in cause.pods)
    all_nodes = some(emptied) if every == 1 else f"all {every} nodes"
    if len(emptied) == every and go == len(cause.pods):
        return f" (empties {all_nodes})"
    lets = "it" if len(cause.pods) == 1 else f"{go} of the {len(cause.pods)} pods"
    which = all_nodes if len(emptied) == every else some(emptied) or "no node"
    return f" (lets {lets} go, and empties {which})"


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
    if well and document.failing_draws:
        return VerdictBlock(f"{'; '.join(parts)}, but without harm only as ties go here.", "warning")
    return VerdictBlock("; ".join(parts) + ".", "good" if well else "bad")
