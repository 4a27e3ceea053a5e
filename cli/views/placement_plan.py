"""A PlacementPlan: the binds in their order, how good they are, and what is left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cli.page import MANY_ROWS, Page, counted
from cli.table import table
from cli.views.stages import assumed, stages
from cli.views.verdict import paragraphs
from planner.documents.plan import PODS_PLACED, PendingReason, PlacementPlan


def lines(document: PlacementPlan, page: Page) -> Iterator[str]:
    """The plan as a person reads it."""
    for section in (_steps, _objective, _unplaced):
        found = list(section(document, page))
        if found:
            yield from found
            yield ""
    yield _summary(document, page)


def names(document: PlacementPlan) -> Iterator[str]:
    """The pods that stay pending."""
    return (f"pod/{left.pod}" for left in document.unplaced)


def _steps(document: PlacementPlan, page: Page) -> Iterator[str]:
    """Every step in its order; of a long plan only how many pods come to each node and leave it."""
    if not document.steps:
        return iter(())
    if len(document.steps) > MANY_ROWS and not page.everything:
        return _by_node(document, page)
    if any(step.action == "evict" for step in document.steps):
        moves = [
            [step.action, *step.pod.split("/", 1), step.source or "", step.node or ""]
            for step in document.steps
        ]
        return table(("ACTION", "NAMESPACE", "NAME", "FROM", "NODE"), moves, page.screen)
    rows = [[*step.pod.split("/", 1), step.node or ""] for step in document.steps]
    return table(("NAMESPACE", "NAME", "NODE"), rows, page.screen)


def _by_node(document: PlacementPlan, page: Page) -> Iterator[str]:
    coming = Counter(step.node for step in document.steps if step.node)
    leaving = Counter(step.source for step in document.steps if step.source and step.action == "evict")
    if not leaving:
        return table(("NODE", "PODS"), [[node, str(coming[node])] for node in sorted(coming)], page.screen)
    rows = [[node, str(coming[node]), str(leaving[node])] for node in sorted({*coming, *leaving})]
    return table(("NODE", "COME", "LEAVE"), rows, page.screen)


def _objective(document: PlacementPlan, page: Page) -> Iterator[str]:
    """The stages, where several priorities compete or something is not proved; all with -v."""
    pods = [stage for stage in document.objective if stage.name.startswith(PODS_PLACED)]
    told = len(pods) > 1 or not all(stage.proved for stage in document.objective)
    if not told and not page.verbose:
        return iter(())
    return stages(document.objective, page)


def _unplaced(document: PlacementPlan, page: Page) -> Iterator[str]:
    examples = {left.message: left.pod for left in reversed(document.unplaced)}
    pending = [
        PendingReason(message=message, pods=pods, example=examples[message])
        for message, pods in Counter(left.message for left in document.unplaced).most_common()
    ]
    return paragraphs(pending, page)


def _counts(document: PlacementPlan) -> Iterator[str]:
    """`9 pods placed`, and how many were moved for that, or evicted for good."""
    evicted = {step.pod for step in document.steps if step.action == "evict"}
    bound = {step.pod for step in document.steps if step.action == "bind"}
    yield counted(len(bound - evicted), "pod") + " placed"
    if bound & evicted:
        yield f"{len(bound & evicted)} moved"
    if evicted - bound:
        yield f"{len(evicted - bound)} evicted for good"


def _summary(document: PlacementPlan, page: Page) -> str:
    """`9 pods placed: all of them.`"""
    placed = ", ".join(_counts(document))
    if not document.steps and not document.unplaced:
        return "No pods are pending."
    if not document.unplaced:
        sentence = f"{placed}: all of them"
    elif document.status == "Optimal":
        sentence = f"{placed}, {len(document.unplaced)} left over: proved that no plan is better"
        pods = [stage for stage in document.objective if stage.name.startswith(PODS_PLACED)]
        sentence = " ".join([sentence, *assumed(pods)])
    else:
        sentence = f"{placed}, {len(document.unplaced)} left over; a better plan is not ruled out"
    if not document.verdicts.sequence:
        sentence += "; no order of binds was found for it, so the pods need spec.nodeName"
    if document.cut:
        sentence += "; the search was cut short"
    sentence = sentence[0].upper() + sentence[1:]
    return page.screen.paint(f"{sentence}.", "red" if document.unplaced else "green")
