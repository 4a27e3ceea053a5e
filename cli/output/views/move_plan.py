"""A MovePlan: how good it is, before and after, and the moves by wave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cli.output.blocks import (
    Block,
    Cell,
    Section,
    Sentence,
    SpreadBlock,
    Table,
    Verbatim,
    VerdictBlock,
    Words,
    rows_of,
    section,
)
from cli.output.page import Page, counted
from cli.output.views.names import pod_line
from cli.output.views.spread import short_key, spread_after
from cli.output.views.stages import assumed, in_words, is_conditional, stages
from models.words import are
from planner.documents.move_plan import Balance, MovePlan, MoveStep, Place, WithLabels
from planner.documents.plan import MOVES

#: Why a replacement lands where the plan says.
_LANDINGS = {
    "filters": "the scheduler refuses all other nodes",
    "scores": "others would do, these score highest",
    "pinned": "a node affinity that the new pod gets",
    "cordoned": "other nodes are cordoned meanwhile",
}


def sections(document: MovePlan, page: Page) -> Iterator[Section]:
    """The plan as a person reads it."""
    yield section("", _verdict(document))
    yield section("Spread", _spread(document, page))
    yield section("Moves", moves_table(document.steps, page))
    yield section("", *_landings(document, page), *_waves(document))
    yield section("Pins", *pin_blocks(document.steps, page))
    yield section("Cordons", *_cordons(document, page))
    yield section("Proof", _objective(document, page))
    yield section("Fewer moves", _curve(document))
    yield section("Pods that stay", *_stays(document))


def names(document: MovePlan) -> Iterator[str]:
    """The pods to evict."""
    return map(pod_line, dict.fromkeys(step.pod for step in document.steps))


def _spread(document: MovePlan, page: Page) -> SpreadBlock:
    """The constraints that the moves change; of many, those that were broken."""
    rows = list(document.spread)
    if page.sums_up(rows):
        rows = [row for row in rows if row.skew_before > row.max_skew]
    return spread_after(rows, everything=page.everything)


def moves_table(steps: Sequence[MoveStep], page: Page) -> Table:
    """The moves one by one; of many the waves."""
    if page.sums_up(steps):
        kinds = ("pinned", "cordoned") if _number(steps, "cordoned") else ("pinned",)
        rows = [
            [str(wave), str(len(moves)), *(str(_number(moves, kind)) for kind in kinds)]
            for wave in sorted({step.wave for step in steps})
            if (moves := [step for step in steps if step.wave == wave])
        ]
        heads = ("WAVE", "MOVES", *map(str.upper, kinds))
        return Table(heads, rows_of(rows), noun="wave")
    heads = ("WAVE", "NAMESPACE", "NAME", "FROM", "TO", "LANDING", "WHY")
    told: list[list[Words]] = [
        [
            str(step.wave),
            *step.pod.split("/", 1),
            step.source,
            _to(step),
            Cell(step.landing, "warning" if step.landing in {"pinned", "cordoned"} else "plain"),
            step.why,
        ]
        for step in steps
    ]
    return Table(heads, rows_of(told), noun="move")


def _landings(document: MovePlan, page: Page) -> Iterator[Block]:
    """What the words under LANDING mean, each that stands there."""
    if page.sums_up(document.steps):
        return
    found = {step.landing for step in document.steps}
    told = [f"{kind}: {meaning}" for kind, meaning in _LANDINGS.items() if kind in found]
    if told:
        yield Sentence(f"Landing by {'; '.join(told)}.")


def _waves(document: MovePlan) -> Iterator[Block]:
    """What a wave is, where there are several."""
    if len({step.wave for step in document.steps}) > 1:
        yield Sentence(
            "A wave waits until the pods of the one before are ready again: so no workload has more replicas "
            "down than its budgets and --max-unavailable (1, unless given) allow."
        )


def _number(steps: Iterable[MoveStep], kind: str) -> int:
    return sum(step.landing == kind for step in steps)


def _to(step: MoveStep) -> str:
    """Where a replacement lands: a node, or any of several."""
    if isinstance(step.lands, WithLabels):
        named = ((short_key(key), (one or '""' for one in found)) for key, found in step.lands.labels.items())
        return ", ".join(f"{key} {' or '.join(values)}" for key, values in named)
    others = len(step.lands.nodes) - 1
    return f"{step.node} or {counted(others, 'other')}" if others else step.node


def pin_blocks(steps: Sequence[MoveStep], page: Page) -> Iterator[Block]:
    """What the replacements of pinned moves need."""
    pinned = [(step.pod, step.pin) for step in steps if step.pin is not None]
    if not pinned or page.sums_up(steps):
        return
    yield Sentence("Pinned replacements may run on these nodes only; -o script sees to it:")
    yield Verbatim("reasons", tuple(f"{pod}: {_flat(pin)}" for pod, pin in pinned), indent=2)


def _cordons(document: MovePlan, page: Page) -> Iterator[Block]:
    """The nodes that are closed while replacements land."""
    cordoned = [(step.pod, step.cordon) for step in document.steps if step.cordon]
    if not cordoned or page.sums_up(document.steps):
        return
    yield Sentence("These nodes are cordoned until the replacement has landed; -o script sees to it:")
    yield Verbatim("reasons", tuple(f"{pod}: {', '.join(nodes)}" for pod, nodes in cordoned), indent=2)


def _flat(place: Place) -> str:
    """`zone=a|b` or the names of nodes."""
    if isinstance(place, WithLabels):
        return ", ".join(f"{key}={'|'.join(values)}" for key, values in place.labels.items())
    return ", ".join(place.nodes)


def _objective(document: MovePlan, page: Page) -> Block | None:
    """The stages where everything is wanted, else in words what matters and is not proved."""
    if page.everything:
        return stages(document.objective)
    return None if document.status != "Feasible" else in_words(document.objective)


def _curve(document: MovePlan) -> Table:
    rows = [
        [str(point.moves), str(point.hard_excess), "yes" if point.proved else "no"]
        for point in document.curve
    ]
    return Table(("MOVES", "TOO MANY", "PROVED"), rows_of(rows), noun="point")


def _stays(document: MovePlan) -> Iterator[Block]:
    """Which pods of broken constraints may not be moved."""
    if document.stays:
        yield Sentence("Pods of these constraints that may not be moved:")
        yield Verbatim(
            "reasons", tuple(f"{pods} {reason}" for reason, pods in document.stays.items()), indent=2
        )


def _verdict(document: MovePlan) -> VerdictBlock:
    """`2 moves in 2 waves, 1 pinned: every hard constraint holds; proved that no plan is better.`"""
    after, moves = document.after, len(document.steps)
    if not moves and not after.hard_violations:
        return _nothing_to_move(after)
    pinned, cordoned = (_number(document.steps, kind) for kind in ("pinned", "cordoned"))
    waves = max((step.wave for step in document.steps), default=0)
    done = "No moves"
    if moves:
        done = f"{counted(moves, 'move')} in {counted(waves, 'wave')}, {pinned or 'none'} pinned"
        done += f", {cordoned} with nodes cordoned" if cordoned else ""
    if after.hard_violations:
        domains = counted(after.hard_violations, "domain")
        what = f"{counted(after.hard_excess, 'pod')} still too many in {domains}"
    else:
        what = "every hard constraint holds"
    return VerdictBlock(f"{done}: {what}; {_proof(document)}.", "bad" if after.hard_violations else "good")


def _proof(document: MovePlan) -> str:
    if document.status != "Feasible":
        return ", ".join(["proved that no plan is better", *assumed(document.objective)])
    first_open = next((stage for stage in document.objective if not stage.proved), None)
    if first_open is None or first_open.name != MOVES or is_conditional(first_open):
        return "a better plan is not ruled out"
    if first_open.bound is not None:
        return f"at least {counted(first_open.bound, 'move')} needed"
    return "a better plan is not ruled out"


def _nothing_to_move(after: Balance) -> VerdictBlock:
    waiting = ""
    if after.pending:
        have = are(after.pending)
        waiting = f"; {counted(after.pending, 'pod')} {have} pending and {have} not counted"
    if not after.soft_excess:
        balanced = f"Balanced: no constraint is broken, nothing has to move{waiting}."
        return VerdictBlock(balanced, "plain" if waiting else "good")
    pods = counted(after.soft_excess, "pod")
    soft = f"ScheduleAnyway constraints have {pods} too many"
    return VerdictBlock(f"No hard constraint is broken, nothing has to move; {soft}{waiting}.")
