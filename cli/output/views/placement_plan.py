"""A PlacementPlan: how good it is, the binds in their order, and what is left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cli.output.blocks import Block, Section, Table, VerdictBlock, rows_of, section
from cli.output.page import MOST_ROWS, Page, counted
from cli.output.views.names import pod_line
from cli.output.views.stages import assumed, in_words, stages
from cli.output.views.verdict import paragraphs
from planner.documents.plan import PODS_PLACED, PlacementPlan
from planner.documents.reasons import reasons_of

#: What the steps stand under.
STEPS = "Steps"


def sections(document: PlacementPlan, page: Page) -> Iterator[Section]:
    """The plan as a person reads it."""
    yield section("", _verdict(document))
    yield section("Pods left over", *_unplaced(document, page))
    yield section(STEPS, _steps(document, page))
    yield section("Proof", _objective(document, page))


def names(document: PlacementPlan) -> Iterator[str]:
    """The pods that stay pending."""
    return (pod_line(left.pod) for left in document.unplaced)


def _steps(document: PlacementPlan, page: Page) -> Table:
    """Every step in its order; of a long plan only how many pods come to each node and leave it."""
    if page.sums_up(document.steps):
        return _by_node(document)
    if any(step.action == "evict" for step in document.steps):
        moves = [
            [step.action, *step.pod.split("/", 1), step.source or "", step.node or ""]
            for step in document.steps
        ]
        return Table(("ACTION", "NAMESPACE", "NAME", "FROM", "NODE"), rows_of(moves), noun="step")
    rows = [[*step.pod.split("/", 1), step.node or ""] for step in document.steps]
    return Table(("NAMESPACE", "NAME", "NODE"), rows_of(rows), noun="step")


def _by_node(document: PlacementPlan) -> Table:
    """The nodes to which most pods come, first."""
    coming = Counter(step.node for step in document.steps if step.node)
    leaving = Counter(step.source for step in document.steps if step.source and step.action == "evict")
    nodes = sorted({*coming, *leaving}, key=lambda node: (-coming[node], node))
    heads = ("NODE", "COME", "LEAVE") if leaving else ("NODE", "PODS")
    rows = [[node, str(coming[node]), str(leaving[node])][: len(heads)] for node in nodes]
    return Table(heads, rows_of(rows), noun="node", most=MOST_ROWS)


def _objective(document: PlacementPlan, page: Page) -> Block | None:
    """The stages where several priorities compete, or with -v; else in words what is not proved."""
    pods = [stage for stage in document.objective if stage.name.startswith(PODS_PLACED)]
    if page.verbose or len(pods) > 1:
        return stages(document.objective)
    return in_words(document.objective)


def _unplaced(document: PlacementPlan, page: Page) -> Iterator[Block]:
    pending = reasons_of([(left.pod, left.message) for left in document.unplaced])
    return paragraphs([*pending], page)


def _counts(document: PlacementPlan) -> Iterator[str]:
    """`9 pods placed`, and how many were moved for that, or evicted for good."""
    evicted = {step.pod for step in document.steps if step.action == "evict"}
    bound = {step.pod for step in document.steps if step.action == "bind"}
    yield counted(len(bound - evicted), "pod") + " placed"
    if bound & evicted:
        yield f"{len(bound & evicted)} moved"
    if evicted - bound:
        yield f"{len(evicted - bound)} evicted for good"


def _verdict(document: PlacementPlan) -> VerdictBlock:
    """`9 pods placed: all of them.`"""
    placed = ", ".join(_counts(document))
    if not document.steps and not document.unplaced:
        return VerdictBlock("There are no pods to place.")
    if not document.unplaced:
        sentence = f"{placed}: all of them"
    elif document.status != "Feasible":
        sentence = f"{placed}, {len(document.unplaced)} left over: proved that no plan is better"
        pods = [stage for stage in document.objective if stage.name.startswith(PODS_PLACED)]
        sentence = ", ".join([sentence, *assumed(pods)])
    else:
        sentence = f"{placed}, {len(document.unplaced)} left over; a better plan is not ruled out"
    if not document.verdicts.sequence:
        sentence += "; no order of binds was found for it, so the pods need spec.nodeName"
    if document.cut:
        sentence += "; the search was cut short"
    sentence = sentence[0].upper() + sentence[1:]
    return VerdictBlock(f"{sentence}.", "bad" if document.unplaced else "good")
