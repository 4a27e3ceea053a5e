"""The `consolidate` command: bound, choice of nodes, waves that empty them, and the document."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from models import Cluster
from planner.clock import Clock
from planner.consolidate.bound import is_modelled
from planner.consolidate.document import document
from planner.consolidate.emptying import Emptied, Emptying
from planner.consolidate.greedy import NodeRemoval
from planner.consolidate.layout import Limits, Reserve, read
from planner.consolidate.prices import INSTANCE_TYPE, NodePrices
from planner.consolidate.removable import NodeChoice, Removable
from planner.consolidate.search import ConsolidationSearch, FoundLayout
from planner.documents.consolidation import ConsolidationPlan, FrontierPoint
from planner.errors import InputError
from planner.eviction.budgets import Budgets
from planner.eviction.protections import protections_of, unmodelled
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.problem import Problem
from planner.proof import effort
from planner.proof.meter import Meter


def consolidate(  # noqa: PLR0913 - the options of the command
    cluster: Cluster,
    *,
    prices: Mapping[str, float | str | Decimal] | None = None,
    price_label: str = INSTANCE_TYPE,
    choice: NodeChoice | None = None,
    reserve: float = 0.0,
    max_moves: int | None = None,
    pins: bool = False,
    curve: bool = False,
    time_limit: float = 60.0,
    stop_event: threading.Event | None = None,
) -> ConsolidationPlan:
    """The cheapest set of nodes that holds every pod, and the evictions that empty the others.

    `prices` by the value of the node label `price_label`; without any every node costs 1.  `choice` says
    which nodes are looked at.  `reserve` is the part of every resource of the kept nodes that stays free.
    By evictions alone, unless `pins` lets replacements be pinned.  `curve` adds what fewer moves achieve.
    """
    thousandths = _thousandths(reserve)
    problem = Problem(cluster)
    found = _Consolidation(
        problem,
        NodePrices.of(problem, prices, price_label),
        _checked(problem, choice or NodeChoice()),
        _Wishes(thousandths, _least(max_moves, protections_of(cluster).most), time_limit),
        Clock(time_limit * effort.CONSOLIDATION_SEARCH, stop_event),
    )
    return found.plan(pins=pins, curve=curve)


@dataclass(frozen=True, slots=True)
class _Wishes:
    """Thousandths of the kept nodes' room that stay free, the most moves, and the time limit."""

    thousandths: int
    max_moves: int | None
    seconds: float


class _Consolidation:
    """One question about one cluster."""

    def __init__(
        self,
        problem: Problem,
        prices: NodePrices,
        choice: NodeChoice,
        wishes: _Wishes,
        clock: Clock,
    ) -> None:
        self._problem = problem
        self._prices = prices
        self._trial = TrialCluster(problem)
        self._movable = Movable(problem, protections_of(problem.cluster), Budgets(problem))
        self._removable = Removable.of(problem, self._movable, prices.prices, choice)
        room = wishes.thousandths
        self._reserve = Reserve.of(problem, self._movable, room) if room else None
        self._max_moves = wishes.max_moves
        self._work = wishes.seconds * effort.WORK_PER_SECOND
        self._clock = clock
        #: Waves are planned in steps of fixed size; only the time limit ends that early.  A request to stop
        #: ends the search, and what it found is carried out.
        self._wave_meter = Meter(math.inf, Clock(wishes.seconds))
        self._meter = Meter(self._work * effort.CONSOLIDATION_SHARE, clock)

    def plan(self, *, pins: bool, curve: bool) -> ConsolidationPlan:
        """The best plan that was found, and what is known about others."""
        modelled = is_modelled(self._trial, self._movable)
        layout, emptied = self._best(self._max_moves, self._meter, pins=pins)
        frontier = [*self._frontier(emptied, pins=pins)] if curve else []
        return document(
            self._removable,
            self._prices,
            layout,
            emptied,
            frontier=frontier,
            modelled=modelled,
            notes=(*self._notes(modelled=modelled), *self._with_pins(layout, emptied, pins=pins)),
        ).cut_while(self._meter.cut or self._wave_meter.cut)

    def _best(self, max_moves: int | None, meter: Meter, *, pins: bool) -> tuple[FoundLayout, Emptied]:
        """The cheapest plan of the layouts that the search comes by."""
        trial = TrialCluster(self._problem)
        limits = Limits(self._reserve, max_moves)
        found = ConsolidationSearch(trial, self._movable, self._removable, limits, meter).run()
        emptying = Emptying(self._trial, self._movable, found.before, self._wave_meter, pins=pins)
        best = emptying.of(found.layout, self._removable.cost)
        if best.given_back:
            best = self._repaired(best, emptying, limits)
        for layout in found.removals:
            if layout is not found.layout and self._removable.cost(layout.removed) < self._key(best)[0]:
                best = min(best, emptying.of(layout, self._removable.cost), key=self._key)
        return found, best

    def _repaired(self, best: Emptied, emptying: Emptying, limits: Limits) -> Emptied:
        """The cheapest plan when nodes that were not emptied are kept, and others go as autoscalers do it."""
        kept = dict(best.given_back)
        for _ in range(effort.EMPTYING_REPAIRS):
            if self._wave_meter.over():
                break
            trial = TrialCluster(self._problem)
            removable = self._removable.without(kept)
            removal = NodeRemoval(trial, self._movable, removable, limits, self._wave_meter)
            removal.run(np.flatnonzero(best.removed).tolist())
            found = emptying.of(read(trial, self._movable, removal.removed), self._removable.cost)
            best = min(best, found, key=self._key)
            if found.given_back.keys() <= kept.keys():
                break
            kept |= found.given_back
        return best

    def _key(self, emptied: Emptied) -> tuple[int, int, int]:
        return self._removable.cost(emptied.removed), emptied.moves, emptied.pinned

    def _frontier(self, emptied: Emptied, *, pins: bool) -> Iterator[FrontierPoint]:
        """Plans with fewer moves, each at least as cheap as those before it."""
        best: Emptied | None = None
        limits = sorted(
            {emptied.moves * part // effort.FRONTIER_POINTS for part in range(effort.FRONTIER_POINTS)}
        )
        for most in limits:
            step = Meter(self._work * effort.FRONTIER_SHARE, self._clock)
            found = self._best(most, step, pins=pins)[1]
            if best is None or self._key(found)[:1] < self._key(best)[:1]:
                best = found
                yield self._point(best)
            if self._clock.over():
                break
        if best is None or self._key(emptied)[:1] < self._key(best)[:1]:
            yield self._point(emptied)

    def _point(self, emptied: Emptied) -> FrontierPoint:
        return FrontierPoint(
            nodes=int(emptied.removed.sum()),
            moves=emptied.moves,
            cost=self._prices.cost(self._removable.cost(emptied.removed)),
        )

    def _with_pins(self, layout: FoundLayout, emptied: Emptied, *, pins: bool) -> Iterator[str]:
        """What pins would add where evictions alone do not empty all nodes that could go."""
        if pins or not emptied.given_back:
            return
        back = len(emptied.given_back)
        nodes = "1 node that could go is" if back == 1 else f"{back} nodes that could go are"
        yield f"{nodes} kept: by evictions alone no safe waves were found that empty them"
        pinning = Emptying(self._trial, self._movable, layout.before, self._wave_meter, pins=True)
        found = pinning.of(layout.layout, self._removable.cost)
        more = self._removable.cost(emptied.removed) - self._removable.cost(found.removed)
        if more > 0:
            saves = f"saves {self._prices.cost(more):g} more with {found.pinned} pins"
            yield f"--pin {saves}: {int(found.removed.sum())} nodes go"
        else:
            yield "with --pin no cheaper plan was found either"

    def _notes(self, *, modelled: bool) -> Iterator[str]:
        problem, policy = self._problem, self._problem.cluster.descheduler_policy
        yield from unmodelled(policy)
        rules = self._movable.protections
        if (rules.most_per_node, rules.most_per_namespace) != (None, None):
            yield "the DeschedulerPolicy's limits per node and namespace are not kept to"
        if not modelled:
            yield "no bound is known: the snapshot breaks a rule already, or a constraint honours taints"
        pending = len(problem.queue())
        if pending:
            yield f"{pending} pods are pending and may take the room that is left: place them first"


def _thousandths(reserve: float) -> int:
    """A share in whole thousandths, rounded up."""
    if not 0 <= reserve < 1:
        raise InputError([f"reserve: expected a share from 0% to below 100%, found {reserve:.0%}"])
    return math.ceil(Fraction(str(reserve)) * 1000)


def _checked(problem: Problem, choice: NodeChoice) -> NodeChoice:
    """The choice, all of whose nodes are there."""
    for name in sorted(choice.keep | choice.named):
        if name not in problem.nodes.index:
            raise InputError([f"there is no node {name}"])
    return choice


def _least(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)
