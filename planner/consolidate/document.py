"""A consolidation as the document that is printed, and what is claimed of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import numpy as np

from models.errors import InternalError
from planner.consolidate.emptying import Emptied
from planner.consolidate.prices import NodePrices
from planner.consolidate.setting import Setting
from planner.documents.consolidation import (
    AddedNode,
    ConsolidationPlan,
    FailingDraws,
    FrontierPoint,
    KeptNode,
    LostDomain,
    NodeCost,
    RemovedNode,
)
from planner.eviction.job_notes import lost_with, taken_for_granted
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import HOSTNAME, Mask
from planner.proof.bounds import Assumption, Bound, Claim, Measured, judge, status_of
from planner.rebalance.document import before_and_after, changes, steps, undecided_landings
from planner.scheduler.remarks import notes_on

_ASSUMES = frozenset({Assumption.PROTECTED_STAY, Assumption.NOTHING_WORSE})


def document(  # noqa: PLR0913 - what a plan consists of
    setting: Setting,
    emptied: Emptied,
    *,
    least_cost: Decimal,
    least_moves: int | None,
    frontier: Sequence[FrontierPoint],
    failing_draws: Mapping[str, int] | None,
    notes: Sequence[str],
) -> ConsolidationPlan:
    """The plan; no plan costs less than `least_cost`, nor makes fewer than `least_moves` at that cost."""
    trial, removable, prices = emptied.trial, setting.removable, setting.prices
    question = setting.question
    before, after = before_and_after(trial, emptied.waves)
    # Above the nodes that go are cordoned already: constraints that honour taints count them no more.
    as_it_stands, _ = before_and_after(setting.trial, ())
    measured = [
        Measured("cost", removable.cost(emptied.removed), largest=False),
        Measured("moves", emptied.moves, largest=False),
        Measured("pinned", emptied.pinned, largest=False),
        Measured("softExcess", after.balance.soft_excess, largest=False),
    ]
    cost = measured[0].value * prices.unit
    if cost < least_cost:
        raise InternalError(f"a plan costs {cost}, and no plan was said to cost less than {least_cost}")
    # No plan makes fewer moves than none.
    claims = [*_claims(math.floor(least_cost / prices.unit), least_moves if emptied.moves else 0)]
    stages = [*judge(measured, claims)]
    reasons = [[_reason(emptied, landing.move.source) for landing in wave] for wave in emptied.waves]
    return ConsolidationPlan(
        # Pins and soft spread are told, and not minimised for their own sake.
        status=status_of(stages[:2]),
        objective=tuple(stage.objective() for stage in stages),
        price_unit=float(prices.unit),
        max_moves=question.max_moves,
        survive=question.survive,
        failing_draws=_failing_draws(failing_draws),
        cost=NodeCost(
            before=prices.cost(removable.cost(setting.added)),
            after=prices.cost(measured[0].value),
            bound=float(least_cost),
        ),
        removed=tuple(_removed(prices, emptied)),
        added=tuple(_added(setting)),
        kept=tuple(_kept(setting, emptied, proved=stages[0].proved)),
        cordoned_meanwhile=()
        if emptied.meanwhile is None
        else tuple(trial.problem.nodes.names_of(emptied.meanwhile)),
        steps=tuple(steps(trial, emptied.waves, reasons)),
        frontier=tuple(frontier),
        before=as_it_stands.balance,
        after=after.balance,
        spread=tuple(changes(before, after)),
        domains_lost=tuple(_lost_domains(trial, emptied.removed)),
        kubernetes=trial.problem.kubernetes.document,
        notes=(
            *notes_on(trial.problem, proves=True),
            *undecided_landings(trial, emptied.waves),
            *taken_for_granted(trial.problem, _made_again(emptied, question.survive)),
            *notes,
        ),
    )


def _failing_draws(draws: Mapping[str, int] | None) -> tuple[FailingDraws, ...] | None:
    """A row for every domain with such draws."""
    if draws is None:
        return None
    return tuple(FailingDraws(domain=domain, draws=number) for domain, number in draws.items() if number)


def _made_again(emptied: Emptied, survive: str | None) -> Iterator[int]:
    """The pods that are made again: those that move, and with `survive` those that may be lost."""
    yield from (landing.move.pod for wave in emptied.waves for landing in wave)
    if survive is not None:
        yield from lost_with(emptied.trial.problem, survive)


def _claims(least_cost: int, least_moves: int | None) -> Iterator[Claim]:
    yield Claim("cost", Bound(least_cost, "the model of nodes that are kept", _ASSUMES))
    if least_moves is not None:
        moves = Bound(least_moves, "the model of nodes that are kept", _ASSUMES)
        yield Claim("moves", moves, {"cost": least_cost})


def _reason(emptied: Emptied, source: int) -> str:
    name = emptied.trial.problem.nodes.names[source]
    return (
        f"{name} goes"
        if emptied.removed[source]
        else "makes room, or makes landings certain, for pods of nodes that go"
    )


def _removed(prices: NodePrices, emptied: Emptied) -> Iterator[RemovedNode]:
    """The nodes that go, in the order in which they are empty; those of a wave by name."""
    names = emptied.trial.problem.nodes.names
    wave_of: dict[int, int] = {}
    for number, wave in enumerate(emptied.waves, start=1):
        wave_of |= {landing.move.source: number for landing in wave}
    going = np.flatnonzero(emptied.removed).tolist()
    for node in sorted(going, key=lambda node: (wave_of.get(node, 0), names[node])):
        yield RemovedNode(
            node=names[node],
            type=prices.types[node],
            price=prices.cost(int(prices.prices[node])),
            wave=wave_of.get(node, 0),
        )


def _added(setting: Setting) -> Iterator[AddedNode]:
    for name, machine in sorted(setting.machines.items()):
        yield AddedNode(name=name, type=machine.name, price=float(machine.price), zone=machine.zone)


def _kept(setting: Setting, emptied: Emptied, *, proved: bool) -> Iterator[KeptNode]:
    within = "" if setting.question.max_moves is None else " within the limit of moves"
    least = f"no plan{within} leaves cheaper nodes" if proved else "no cheaper set of nodes was found"
    problem, prices = emptied.trial.problem, setting.prices
    for node in np.flatnonzero(~emptied.removed & ~setting.added).tolist():
        held = setting.removable.kept.get(node)
        yield KeptNode(
            node=problem.nodes.names[node],
            type=prices.types[node],
            price=prices.cost(int(prices.prices[node])),
            reason=emptied.given_back.get(node, least) if held is None else held.reason,
            pod=None if held is None or held.pod is None else problem.pods[held.pod].key,
        )


def _lost_domains(trial: TrialCluster, removed: Mask) -> list[LostDomain]:
    """The domains of constraints, nodes aside, of which no node is left."""
    keys = {found.rule.column.key for found in trial.ledger.constraints} - {HOSTNAME}
    columns = [trial.problem.nodes.column(key) for key in sorted(keys)]
    return [
        LostDomain(key=column.key, domain=value)
        for column in columns
        for code, value in enumerate(column.values)
        if not (column.present & ~removed)[column.codes == code].any()
    ]
