"""A MovePlan: before and after, the moves by wave, and how good they are."""

from __future__ import annotations

from collections.abc import Iterator

from cli.page import MANY_ROWS, Page, counted
from cli.table import table
from cli.views.spread import domains_changed, short_key
from cli.views.stages import assumed, stages
from planner.documents.move_plan import Balance, MovePlan, MoveStep, Place, WithLabels


def lines(document: MovePlan, page: Page) -> Iterator[str]:
    """The plan as a person reads it."""
    for section in (_spread, _steps, _pins, _objective, _curve, _stays):
        found = list(section(document, page))
        if found:
            yield from found
            yield ""
    yield _summary(document, page)


def names(document: MovePlan) -> Iterator[str]:
    """The pods to evict."""
    return (f"pod/{step.pod}" for step in document.steps)


def _spread(document: MovePlan, page: Page) -> Iterator[str]:
    """The constraints that the moves change; of many, the hard ones."""
    rows = list(document.spread)
    if len(rows) > MANY_ROWS and not page.everything:
        rows = [row for row in rows if row.skew_before > row.max_skew]
    if not rows:
        return iter(())
    cells = [
        [
            row.namespace,
            row.workload,
            row.topology_key if page.everything else short_key(row.topology_key),
            f"{row.skew_before} -> {row.skew_after}",
            domains_changed(row, everything=page.everything),
        ]
        for row in rows
    ]
    return table(("NAMESPACE", "WORKLOAD", "KEY", "SKEW", "DOMAINS"), cells, page.screen)


def _steps(document: MovePlan, page: Page) -> Iterator[str]:
    if not document.steps:
        return iter(())
    steps = document.steps
    if len(steps) > MANY_ROWS and not page.everything:
        rows = [
            [str(wave), str(len(moves)), str(sum(step.landing == "pinned" for step in moves))]
            for wave in sorted({step.wave for step in steps})
            if (moves := [step for step in steps if step.wave == wave])
        ]
        return table(("WAVE", "MOVES", "PINNED"), rows, page.screen)
    heads = ("WAVE", "NAMESPACE", "NAME", "FROM", "TO", "LANDING", "WHY")
    rows = [
        [
            str(step.wave),
            *step.pod.split("/", 1),
            step.source,
            _to(step),
            page.screen.paint(step.landing, "yellow") if step.landing == "pinned" else step.landing,
            step.why,
        ]
        for step in steps
    ]
    return table(heads, rows, page.screen)


def _to(step: MoveStep) -> str:
    """Where a replacement lands: a node, or any of several."""
    if isinstance(step.lands, WithLabels):
        return ", ".join(f"{short_key(key)} {' or '.join(found)}" for key, found in step.lands.labels.items())
    others = len(step.lands.nodes) - 1
    return f"{step.node} or {counted(others, 'other')}" if others else step.node


def _pins(document: MovePlan, page: Page) -> Iterator[str]:
    """What the replacements of pinned moves need."""
    pinned = [(step.pod, step.pin) for step in document.steps if step.pin is not None]
    if not pinned or (len(document.steps) > MANY_ROWS and not page.everything):
        return
    yield "Pinned replacements may run on these nodes only; -o script sees to it:"
    for pod, pin in pinned:
        yield f"  {pod}: {_flat(pin)}"


def _flat(place: Place) -> str:
    """`zone=a|b` or the names of nodes."""
    if isinstance(place, WithLabels):
        return ", ".join(f"{key}={'|'.join(values)}" for key, values in place.labels.items())
    return ", ".join(place.nodes)


def _objective(document: MovePlan, page: Page) -> Iterator[str]:
    """The stages, where something that matters is not proved, or everything is wanted."""
    if document.status == "Optimal" and not page.everything:
        return iter(())
    return stages(document.objective, page)


def _curve(document: MovePlan, page: Page) -> Iterator[str]:
    if not document.curve:
        return iter(())
    rows = [
        [str(point.moves), str(point.hard_excess), "yes" if point.proved else "no"]
        for point in document.curve
    ]
    return table(("MOVES", "TOO MANY", "PROVED"), rows, page.screen)


def _stays(document: MovePlan, page: Page) -> Iterator[str]:
    """Which pods of broken constraints may not be moved."""
    if document.stays:
        yield "Pods of these constraints that may not be moved:"
        for reason, pods in document.stays.items():
            yield f"  {pods} {reason}"


def _summary(document: MovePlan, page: Page) -> str:
    """`2 moves in 2 waves, 1 pinned: every hard constraint holds, and no plan does it with fewer.`"""
    after, moves = document.after, len(document.steps)
    if not moves and not after.hard_violations:
        return _nothing_to_move(after, page)
    pinned = sum(step.landing == "pinned" for step in document.steps)
    waves = max((step.wave for step in document.steps), default=0)
    done = "No moves"
    if moves:
        done = f"{counted(moves, 'move')} in {counted(waves, 'wave')}, {pinned or 'none'} pinned"
    if after.hard_violations:
        domains = counted(after.hard_violations, "domain")
        what = f"{counted(after.hard_excess, 'pod')} still too many in {domains}"
    else:
        what = "every hard constraint holds"
    if document.status == "Optimal":
        proof = ", ".join(["proved that no plan is better", *assumed(document.objective)])
    elif document.objective[0].proved and (least := document.objective[1].bound) is not None:
        proof = f"at least {counted(least, 'move')} needed"
    else:
        proof = "a better plan is not ruled out"
    return page.screen.paint(f"{done}: {what}; {proof}.", "red" if after.hard_violations else "green")


def _nothing_to_move(after: Balance, page: Page) -> str:
    if not after.soft_excess:
        return page.screen.paint("Balanced: no constraint is broken, nothing has to move.", "green")
    pods = counted(after.soft_excess, "pod")
    return (
        f"No hard constraint is broken, nothing has to move; ScheduleAnyway constraints have {pods} too many."
    )
