"""A ConsolidationPlan: what the nodes cost, which go, which stay and why, and the moves by wave."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.blocks import Block, Section, Sentence, Table, VerdictBlock, rows_of, section
from cli.output.page import Page, counted, some
from cli.output.views.move_plan import moves_table, pin_blocks
from cli.output.views.stages import stages
from models.words import priced, value_told
from planner.documents.consolidation import ConsolidationPlan


def sections(document: ConsolidationPlan, page: Page) -> Iterator[Section]:
    """The plan as a person reads it."""
    yield section("", _verdict(document), *_bound(document), *_survives(document))
    yield section("Machines to add", _added(document, page))
    yield section("Nodes that go", _removed(document, page))
    yield section("Moves", moves_table(document.steps, page))
    yield section("", *_waves(document), *_meanwhile(document))
    yield section("Pins", *pin_blocks(document.steps, page))
    yield section("Nodes that stay", _kept(document, page))
    yield section("Domains that disappear", *_lost(document))
    yield section("Fewer moves", _frontier(document))
    if page.everything:
        yield section("Proof", stages(document.objective))


def names(document: ConsolidationPlan) -> Iterator[str]:
    """The nodes that go, in the order in which they are empty."""
    return (f"node/{row.node}" for row in document.removed)


def _verdict(document: ConsolidationPlan) -> VerdictBlock:
    cost, number = document.cost, len(document.removed)
    if not number:
        return VerdictBlock(f"No node goes: all of them cost {priced(cost.after)}.")
    every = counted(number + len(document.kept), "node")
    waves = max((step.wave for step in document.steps), default=0)
    come = "comes" if len(document.added) == 1 else "come"
    instead = f" when {counted(len(document.added), 'machine')} {come}" if document.added else ""
    what = f"{number} of {every} can go{instead}: cost {priced(cost.before)} -> {priced(cost.after)}"
    if not document.steps:
        return VerdictBlock(f"{what}; no pod has to move.", "good")
    how = f"{counted(len(document.steps), 'move')} in {counted(waves, 'wave')}"
    pinned = sum(step.landing == "pinned" for step in document.steps)
    cordoned = sum(step.landing == "cordoned" for step in document.steps)
    led = f", {cordoned} with nodes cordoned" if cordoned else ""
    return VerdictBlock(f"{what}; {how}, {pinned or 'none'} pinned{led}.", "good")


def _bound(document: ConsolidationPlan) -> Iterator[Block]:
    cost = document.cost
    within = within_limit(document.max_moves)
    if document.status == "Optimal":
        yield Sentence(f"Proved: no plan{within} leaves cheaper nodes, or the same cost with fewer moves.")
    elif cost.bound == cost.after:
        yield Sentence(f"Proved: no plan{within} leaves cheaper nodes; fewer moves are not ruled out.")
    else:
        yield Sentence(f"The nodes that a plan{within} leaves cost {priced(cost.bound)} at least.")


def within_limit(most: int | None) -> str:
    """The limit of moves, said behind the word plan."""
    if most is None:
        return ""
    return f" of at most {counted(most, 'move')}" if most else " without a move"


def _survives(document: ConsolidationPlan) -> Iterator[Block]:
    if document.survive is not None:
        domains = some([value_told(row.domain) for row in document.failing_draws or ()])
        ties = f", but without {domains} only as ties go here" if document.failing_draws else ""
        yield Sentence(
            f"Whichever domain of {document.survive} is lost, no more pods than now are left without a node"
            f"{ties}: `planner check --survive` on the new cluster.",
            "warning" if ties else "plain",
        )


def _added(document: ConsolidationPlan, page: Page) -> Table:
    rows = [[row.name, row.type, row.zone or "<none>", priced(row.price)] for row in document.added]
    return Table(("NODE", "TYPE", "ZONE", "PRICE"), rows_of(rows), noun="machine", most=page.many)


def _removed(document: ConsolidationPlan, page: Page) -> Table:
    rows = [
        [row.node, row.type or "<none>", priced(row.price), str(row.wave) if row.wave else "now"]
        for row in document.removed
    ]
    return Table(("NODE", "TYPE", "PRICE", "EMPTY AFTER WAVE"), rows_of(rows), noun="node", most=page.many)


def _waves(document: ConsolidationPlan) -> Iterator[Block]:
    """What a wave is, where there are several."""
    if len({step.wave for step in document.steps}) > 1:
        yield Sentence(
            "The nodes that go are cordoned first. A wave waits until the pods of the one before are ready "
            "again: of no workload it evicts more replicas than --max-unavailable (1, unless given), nor "
            "more than its budgets allow."
        )


def _meanwhile(document: ConsolidationPlan) -> Iterator[Block]:
    """The nodes that are kept and closed for a time."""
    most = max((len(step.cordon) for step in document.steps), default=0)
    if most:
        yield Sentence(
            f"While replacements are under way, nodes that stay are cordoned, too, at most {most} at a time, "
            "so that kube-scheduler puts each where it is planned to: -o script sees to it."
        )
    names = document.cordoned_meanwhile
    if names:
        yield Sentence(
            f"Cordoned as well, until all waves are over: {', '.join(names)}. Replacements that came there "
            "would leave later ones without a certain place."
        )


def _kept(document: ConsolidationPlan, page: Page) -> Table:
    rows = [[row.node, priced(row.price), row.pod or "", row.reason] for row in document.kept]
    return Table(("NODE", "PRICE", "POD", "WHY"), rows_of(rows), noun="node", most=page.many)


def _lost(document: ConsolidationPlan) -> Iterator[Block]:
    for row in document.domains_lost:
        yield Sentence(
            f"{row.key} {value_told(row.domain)}: no node of it is left. Its nodes, cordoned and empty, "
            "still count for constraints that ignore taints; deleted, for none. No constraint is worse in "
            "either state.",
            "warning",
        )


def _frontier(document: ConsolidationPlan) -> Table:
    rows = [[str(row.moves), str(row.nodes), priced(row.cost)] for row in document.frontier]
    return Table(("MOVES", "NODES THAT GO", "COST"), rows_of(rows), noun="plan")
