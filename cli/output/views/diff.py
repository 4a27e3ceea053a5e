"""A Diff: what got worse and better between two snapshots, which pods moved, which wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cli.output.blocks import (
    Cell,
    Section,
    Sentence,
    SpreadBlock,
    Table,
    VerdictBlock,
    Words,
    rows_of,
    section,
)
from cli.output.forms.spreads import by_weight
from cli.output.page import Page, counted, some
from cli.output.views.names import pod_line, workload_line
from cli.output.views.spread import row_after
from planner.documents.diff import Diff, MovedPod, NodeDifference, WorkloadChange

_MOST_NAMES = 8
#: What is looked at, and nothing else: not the requests of pods, for example.
_SAME = (
    "No node came or went, was cordoned or has other taints, labels or sizes; "
    "no pod moved or waits that did not; the spread is the same"
)
#: The lists of nodes, what they say of one, and in what its nodes differ.
_NODES = {
    "added": ("new", ""),
    "removed": ("gone", ""),
    "cordoned": ("cordoned", ""),
    "uncordoned": ("no longer cordoned", ""),
    "remade": ("made anew under the same name", ""),
    "tainted": ("with other taints", "taints"),
    "labelled": ("with other labels", "labels"),
    "resized": ("with other allocatable amounts", "allocatable"),
}


def sections(document: Diff, page: Page) -> Iterator[Section]:
    """The difference as a person reads it."""
    yield section("", _verdict(document))
    yield section("Nodes", *_nodes(document, page))
    yield section("Pods that wait now", _pending(document, page))
    yield section("Pods that moved", _moved(document.moved, page))
    rows = by_weight(row_after(row) for row in document.spread)
    yield section("Spread", SpreadBlock(("before", "after"), tuple(rows), page.everything))
    yield section("Workloads", _workloads(document.workloads, page))
    yield section("Pods that have a node now", _placed(document, page))


def names(document: Diff) -> Iterator[str]:
    """The pods that wait now and did not before, and the workloads with a constraint that is more broken."""
    yield from (pod_line(row.pod) for row in document.pending)
    yield from dict.fromkeys(workload_line(row.namespace, row.workload) for row in document.worse)


def _verdict(document: Diff) -> VerdictBlock:
    """`Pods too many 2 -> 0; 1 pod waits that did not; 3 pods moved.`"""
    before, after = document.before, document.after
    parts = []
    if before.hard_excess != after.hard_excess:
        parts.append(f"{before.hard_excess} -> {after.hard_excess} pods too many under DoNotSchedule")
    over = sum(row.excess_after - row.excess_before for row in document.worse)
    if over and after.hard_excess <= before.hard_excess:
        parts.append(f"some DoNotSchedule constraints worse by {counted(over, 'pod')}")
    if before.soft_excess != after.soft_excess:
        parts.append(f"{before.soft_excess} -> {after.soft_excess} too many under ScheduleAnyway")
    if document.pending:
        waits = "waits that did" if len(document.pending) == 1 else "wait that did"
        parts.append(f"{counted(len(document.pending), 'pod')} {waits} not before")
    if document.moved:
        parts.append(f"{counted(len(document.moved), 'pod')} moved")
    worse = bool(document.pending or document.worse)
    nodes = (getattr(document.nodes, name) for name in _NODES)
    changed = [document.spread, document.workloads, document.placed, *nodes]
    if not parts:
        some = before.hard_excess or before.soft_excess
        too_many = "as many pods as before are too many" if some else "none is too many"
        level = f"No pod moved, none waits that did not before, and {too_many}"
        parts = [level if any(changed) else _SAME]
    sentence = "; ".join(parts)
    return VerdictBlock(f"{sentence[0].upper()}{sentence[1:]}.", "bad" if worse else "good")


def _nodes(document: Diff, page: Page) -> Iterator[Sentence]:
    for name, (said, what) in _NODES.items():
        found = getattr(document.nodes, name)
        if found:
            yield Sentence(f"{counted(len(found), 'node')} {said}: {_some(found, page)}")
        yield from _in_what((row for row in document.nodes.different if row.what == what), page)


def _in_what(rows: Iterable[NodeDifference], page: Page) -> Iterator[Sentence]:
    """What the nodes have now, instead of what; once for all nodes of which the same is told."""
    told = [*rows]
    shown = told if page.all_rows else told[:_MOST_NAMES]
    for row in shown:
        now = f"now {', '.join(row.after)}" if row.after else f"no longer {', '.join(row.before)}"
        instead = f" instead of {', '.join(row.before)}" if row.before and row.after else ""
        which = "" if len(told) == 1 else f"{_some(row.nodes, page)}: "
        yield Sentence(f"{which}{now}{instead}", indent=2)
    if len(told) > len(shown):
        yield Sentence(f"and {len(told) - len(shown)} other differences (-v shows all)", indent=2)


def _some(names: Sequence[str], page: Page) -> str:
    return some(names, len(names) if page.all_rows else _MOST_NAMES)


def _pending(document: Diff, page: Page) -> Table:
    rows = [[*row.pod.split("/", 1), row.workload, row.was or "<none>"] for row in document.pending]
    heads = ("NAMESPACE", "NAME", "WORKLOAD", "WAS ON")
    return Table(heads, rows_of(rows), noun="pod", most=page.most(rows))


def _moved(moved: Sequence[MovedPod], page: Page) -> Table:
    rows = [[*row.pod.split("/", 1), row.source, row.node, _name(row.replacement)] for row in moved]
    heads = ("NAMESPACE", "NAME", "FROM", "TO", "NOW CALLED")
    return Table(heads, rows_of(rows), noun="pod", most=page.most(rows))


def _name(pod: str | None) -> str:
    return "<same>" if pod is None else pod.partition("/")[2]


def _workloads(found: Sequence[WorkloadChange], page: Page) -> Table:
    rows: list[list[Words]] = [
        [
            row.namespace,
            row.workload,
            f"{row.placed_before} -> {row.placed_after}",
            Cell(
                f"{row.pending_before} -> {row.pending_after}",
                "bad" if row.pending_after > row.pending_before else "plain",
            ),
        ]
        for row in found
    ]
    heads = ("NAMESPACE", "WORKLOAD", "ON NODES", "WAITING")
    return Table(heads, rows_of(rows), noun="workload", most=page.most(rows))


def _placed(document: Diff, page: Page) -> Table:
    rows = [[*row.pod.split("/", 1), row.workload, row.node] for row in document.placed]
    heads = ("NAMESPACE", "NAME", "WORKLOAD", "NODE")
    return Table(heads, rows_of(rows), noun="pod", most=page.most(rows))
