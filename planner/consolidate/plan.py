"""The `consolidate` command: bound, choice of nodes, waves that empty them, and the document."""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from models import Cluster
from models.collector import old_left_alone
from models.errors import InputError
from models.words import are, counted, priced
from planner.consolidate.bound import CostBound, is_modelled, moves_bound, room_bound
from planner.consolidate.candidates import candidates, one_of_each
from planner.consolidate.carried_out import CarriedOut, CarryingOut
from planner.consolidate.catalogue import Catalogue
from planner.consolidate.document import document
from planner.consolidate.layout import Layout
from planner.consolidate.loss import DomainLosses
from planner.consolidate.loss_room import may_need_less
from planner.consolidate.prices import INSTANCE_TYPE
from planner.consolidate.removable import NodeChoice
from planner.consolidate.search import ConsolidationSearch, FoundLayout
from planner.consolidate.setting import ConsolidationQuestion, Setting
from planner.documents.consolidation import ConsolidationPlan, FrontierPoint
from planner.eviction.protections import protections_of, unmodelled
from planner.problem.nodes import Codes, refuse_no_nodes
from planner.problem.problem import Problem
from planner.proof import consolidation_effort as effort
from planner.proof.clock import Clock
from planner.proof.effort import STANDARD, WORK_PER_SECOND
from planner.proof.meter import Meter
from planner.scheduler import other_ties
from planner.scheduler.other_ties import NOT_DRAWN


def consolidate(  # noqa: PLR0913 - the options of the command
    cluster: Cluster,
    *,
    prices: Mapping[str, float | str | Decimal] | None = None,
    price_label: str = INSTANCE_TYPE,
    catalogue: Sequence[Mapping[str, str]] | None = None,
    choice: NodeChoice | None = None,
    reserve: float = 0.0,
    survive: str | None = None,
    max_moves: int | None = None,
    max_unavailable: int = 1,
    pins: bool = False,
    curve: bool = False,
    time_limit: float = 60.0,
    stop_event: threading.Event | None = None,
) -> ConsolidationPlan:
    """The cheapest set of nodes that holds every pod, and the evictions that empty the others.

    `prices` by the value of the node label `price_label`; without any every node costs 1.  `catalogue` has
    the machines that may be added: a row each with `name`, `price`, amounts of resources, and labels; where
    no prices are given, its own are those of the nodes.  `choice` says which nodes are looked at.  `reserve`
    is the part of every resource of the kept nodes that stays free.  With `survive` no more pods than now are
    left without a node when any one domain of that key is lost, and kube-scheduler places the others.
    At most `max_unavailable` replicas of a workload are down, mostly one where constraints count them.
    By evictions alone, unless `pins` lets replacements be pinned.  `curve` adds what fewer moves achieve.
    """
    refuse_no_nodes(cluster.nodes)
    question = ConsolidationQuestion(
        cluster,
        prices,
        price_label,
        choice or NodeChoice(),
        max_unavailable,
        thousandths=_thousandths(reserve),
        max_moves=_least(max_moves, protections_of(cluster).most),
        survive=survive,
        pins=pins,
    )
    _check(cluster, question.choice)
    read = None
    if catalogue is not None:
        read = Catalogue.of(cluster, catalogue, price_label)
        question = replace(question, prices=read.prices if prices is None else prices)
    asked = _Consolidation(question, read, time_limit, stop_event)
    with old_left_alone():
        return asked.plan(curve=curve)


_WAVES = "waves that empty more nodes"


class _Consolidation:
    """One question about one cluster."""

    def __init__(
        self,
        question: ConsolidationQuestion,
        catalogue: Catalogue | None,
        seconds: float,
        stop_event: threading.Event | None,
    ) -> None:
        self._catalogue = catalogue
        self._question = question
        self._work = seconds * WORK_PER_SECOND
        clock = Clock(seconds * effort.CONSOLIDATION_SEARCH, stop_event)
        #: Waves are planned in steps of fixed size; only the time limit ends that early.  A request to stop
        #: ends the search; what it found is carried out then, once.
        self._waves = Clock(seconds * effort.CONSOLIDATION_WAVES, stop_event)
        self._wave_meter = Meter(math.inf, self._waves)
        self._meter = Meter(self._work * effort.CONSOLIDATION_SHARE, clock)
        self._meters = [self._meter, self._wave_meter]  # and those of the points of a curve
        #: The cluster as it is; `_setting` has the machines of the catalogue that may be added.
        self._alone = Setting.of(question, {})
        self._losses: DomainLosses | None = None
        if question.survive is not None:
            self._meter.look_for("pods without a node when a domain is lost")
            about = self._alone.problem, self._alone.movable, question.survive
            self._losses = DomainLosses.of(*about, self._meter.over)
            self._meter.spend(self._losses.work(len(self._losses.of_domain)))
        #: Whether the machines that are looked at are all that a plan may add.
        self._claimed = True
        self._setting = self._alone
        self._machines: Codes | None = None
        #: What is known of the least cost, however many pods may move.
        self._bound: CostBound | None = None
        if catalogue is not None:
            share = self._meter.part(self._meter.left() * effort.BOUND_OF_COST_SHARE)
            spare = question.thousandths > 0 or question.survive is not None
            found = candidates(question, catalogue, share, self._carrying().limits if spare else None)
            self._setting = found.setting
            self._machines = found.setting.kinds
            self._bound = found.bound
            self._claimed = found.claimed
        self._modelled = self._claimed and is_modelled(self._alone.trial, self._alone.movable)

    def plan(self, *, curve: bool) -> ConsolidationPlan:
        """The best plan that was found, and what is known about others."""
        if curve:
            self._meter.spend(self._meter.left() * (1 - effort.CURVE_FIRST_SHARE))
        layout, best = self._best(self._question.max_moves, self._meter)
        frontier: list[FrontierPoint] = []
        if curve:
            plans = [*self._costlier(layout, best)]
            # With fewer moves allowed a search may come by a plan that the first one has missed.
            best = min(plans, key=lambda one: one.key)
            frontier = [*_frontier(plans)]
        drawn = self._failing_draws(best)
        return document(
            best.setting,
            best.emptied,
            least_cost=self._least_cost(layout),
            least_moves=layout.least_moves if self._modelled else None,
            frontier=frontier,
            failing_draws=drawn,
            notes=(
                *self._notes(),
                *self._about_others(best),
                *self._about_draws(best, drawn),
                *self._with_pins(layout, best),
            ),
        ).cut_while(next(filter(None, (meter.cut for meter in self._meters)), None))

    def _failing_draws(self, best: CarriedOut) -> Mapping[str, int] | None:
        """Of the loss of domains when nodes are gone; None where none go, or none were drawn."""
        if self._losses is None or not best.emptied.removed.any():
            return None
        self._wave_meter.look_for("ties with which more pods would find no node")
        end = best.emptied.end(best.setting.problem.cluster)
        found = self._losses.failing_draws(end, STANDARD.draws, self._wave_meter)
        self._wave_meter.look_for(_WAVES)
        return found

    def _about_others(self, best: CarriedOut) -> Iterator[str]:
        """At most one note: the nodes that stay and are in no domain, so that no loss is about them."""
        if self._losses is None:
            return
        inside, stays = best.setting.problem.nodes.with_keys([self._losses.key]), ~best.emptied.removed
        others, kept = int((stays & ~inside).sum()), int(stays.sum())
        if others:
            have = "does not have" if others == 1 else "do not have"
            nodes = f"{others} of {counted(kept, 'node')} that stay"
            yield f"{nodes} {have} the label {self._losses.key}: no loss of a domain is about them"

    def _about_draws(self, best: CarriedOut, drawn: Mapping[str, int] | None) -> Iterator[str]:
        """At most one note: what other ties do, or that it was not tried."""
        if drawn is None and self._losses is not None and best.emptied.removed.any():
            yield NOT_DRAWN
        yield from other_ties.losses(drawn or {}, "more pods than now find no node", STANDARD.draws)

    def _least_cost(self, layout: FoundLayout) -> Decimal:
        """What no plan costs less than: what the search knows, or what is known of any cluster."""
        alone, most = self._alone, self._question.max_moves
        by_moves = 0 if most is None else moves_bound(alone.removable, alone.before, most)
        known = layout.least_cost * self._setting.prices.unit if self._modelled else self._least_by_room
        return max(by_moves * alone.prices.unit, known)

    @cached_property
    def _least_by_room(self) -> Decimal:
        """What no nodes cost less than that have room for all pods, any number of machines among them."""
        found = self._each
        if found is None:
            return self._alone.removable.fixed_cost * self._alone.prices.unit
        return room_bound(found.task(), found.added) * found.prices.unit

    @cached_property
    def _each(self) -> Setting | None:
        return self._alone if self._catalogue is None else one_of_each(self._alone, self._catalogue)

    def _best(self, max_moves: int | None, meter: Meter) -> tuple[FoundLayout, CarriedOut]:
        """The cheapest plan; with more and more to spare where a lost domain would leave pods without a node.

        The bound is that of the first search, in which nothing is to spare.
        """
        share = meter if self._losses is None else meter.part(meter.left() * effort.SURVIVAL_FIRST_SHARE)
        layout, best, is_lost = self._cheapest(self._carrying(), max_moves, share)
        for to_spare in self._to_spare():
            if not is_lost or best.cost <= self._least_cost(layout) or meter.cut_short():
                break
            share = meter.part(meter.left() / 2)
            _, found, is_lost = self._cheapest(self._carrying(to_spare=to_spare), max_moves, share)
            best = min(best, found, key=lambda one: one.key)
        return layout, best

    def _to_spare(self) -> Iterator[int]:
        """How many thousandths further searches have to spare."""
        if self._losses is not None:
            if may_need_less(self._losses, self._alone.problem):
                yield 0
            yield effort.SURVIVAL_TO_SPARE

    def _cheapest(
        self, carrying: CarryingOut, max_moves: int | None, meter: Meter
    ) -> tuple[FoundLayout, CarriedOut, bool]:
        """The cheapest plan of the layouts that the search comes by.

        And whether the cheapest layout would leave pods over when a domain is lost: its nodes are given back.
        """
        setting, limits = self._setting, carrying.limits(self._setting, max_moves)
        meter.look_for("a cheaper set of nodes")
        # A search that has to spare more than any plan has quotas of its own; its bound is not that of all.
        is_first = carrying.to_spare is None
        known = self._bound if is_first else None
        task, later = setting.task(limits), self._wave_meter
        found = ConsolidationSearch(task, meter, self._machines, known, later).run()
        self._bound = found.bound if is_first else self._bound
        # What the search worked with refers to itself, and holds gigabytes in a large cluster.
        gc.collect()
        self._wave_meter.look_for(_WAVES)
        best = carrying.of(setting, found.layout)
        is_lost = best.emptied.is_lost
        if best.emptied.given_back:
            best = carrying.repaired(best, max_moves)
        for layout in (*found.removals, setting.before):
            if layout is found.layout or self._cost(layout) >= best.cost:
                continue
            # What there is now may be cheaper than a plan of which only some machines come and nodes go.
            if layout is setting.before or not self._is_late(best):
                best = min(best, carrying.of(setting, layout), key=lambda one: one.key)
        best.emptied.check()
        return found, best, is_lost

    def _is_late(self, best: CarriedOut) -> bool:
        """Whether nothing else is tried: it is stopped, or late, and a plan is there or losses are slow."""
        is_slow = self._losses is not None and not self._losses.is_quick(effort.LOSS_TRIED_LATE)
        end = is_slow or bool(best.emptied.removed.any())
        return (self._meter.stopped and self._meter.cut_short()) or (end and self._wave_meter.limit_is_over())

    def _cost(self, layout: Layout) -> Decimal:
        return self._setting.removable.cost(layout.removed) * self._setting.prices.unit

    def _carrying(self, *, pins: bool = False, to_spare: int | None = None) -> CarryingOut:
        return CarryingOut(pins or self._question.pins, self._wave_meter, self._losses, to_spare)

    def _costlier(self, layout: FoundLayout, best: CarriedOut) -> Iterator[CarriedOut]:
        """The best plan, and others with fewer moves: what few moves lead to, and what removals alone do."""
        yield best
        moves, points = best.emptied.moves, effort.FRONTIER_POINTS
        for most in sorted({moves * part // points for part in range(points)}):
            if self._wave_meter.cut_short():
                return
            self._meters.append(Meter(self._work * effort.FRONTIER_SHARE, self._waves))
            yield self._best(most, self._meters[-1])[1]
        for removal in layout.removals:
            if removal.moves(self._setting.before) < moves and not self._wave_meter.cut_short():
                found = self._carrying().of(self._setting, removal)
                found.emptied.check()
                yield found

    def _with_pins(self, layout: FoundLayout, best: CarriedOut) -> Iterator[str]:
        """What pins would add where evictions alone do not lead to the cheapest set that has room for all."""
        cost = self._cost(layout.layout)
        if self._question.pins or cost >= best.cost:
            return
        if self._losses is None or not (
            self._wave_meter.over() or self._is_lost(layout.layout, self._losses)
        ):
            further = int((layout.layout.removed & ~self._setting.added).sum()) - _nodes(best)
            nodes = "1 more node could go" if further == 1 else f"{further} more nodes could go"
            could = (
                nodes if further > 0 else f"cheaper nodes are enough for all pods, for {priced(float(cost))}"
            )
            yield f"{could}: by evictions alone no safe waves were found that lead there"
            if best.emptied.is_open:
                yield "plan again when these are gone: where replacements are is known then, and more may go"
        if self._wave_meter.over() or not (self._losses is None or self._losses.complete):
            why = "it was stopped" if self._wave_meter.stopped else "the time was over"
            yield f"whether --pin saves more was not tried: {why}"
            return
        found = self._carrying(pins=True).of(self._setting, layout.layout)
        more = best.cost - found.cost
        if more > 0:
            saves = f"saves {priced(float(more))} more with {counted(found.emptied.pinned, 'pin')}"
            yield f"--pin {saves}: {counted(_nodes(found), 'node')} {'goes' if _nodes(found) == 1 else 'go'}"
        else:
            yield "with --pin no cheaper plan was found either"

    def _is_lost(self, layout: Layout, losses: DomainLosses) -> bool:
        """Whether a layout, which has room in sum, leaves more pods than now over when a domain is lost."""
        end = self._setting.end(layout, layout.removed)
        return bool(losses.why_worse(end, self._wave_meter.over))

    def _why_unmodelled(self) -> str:
        if not self._claimed:
            return (
                "machines are domains of a constraint, pods of DaemonSets on them would fill a quota, "
                "or there are too many types"
            )
        return (
            "a constraint honours taints, a selector names a label that pods get from their nodes, or it is "
            "undecided where pods may go"
        )

    def _notes(self) -> Iterator[str]:
        problem = self._alone.problem
        if self._losses is not None:
            yield from self._losses.notes()
        yield from unmodelled(problem.cluster.descheduler_policy)
        if self._catalogue is not None and self._catalogue.unread:
            yield f"catalogue: columns that are not read: {', '.join(self._catalogue.unread)}"
        rules = self._alone.movable.protections
        if (rules.most_per_node, rules.most_per_namespace) != (None, None):
            yield "the DeschedulerPolicy's limits per node and namespace are not kept to"
        if not self._modelled:
            counts = "is the cost of nodes that have to stay" if self._each is None else "counts room alone"
            yield f"the bound {counts}: {self._why_unmodelled()}"
        yield from _need_room(problem)


def _need_room(problem: Problem) -> Iterator[str]:
    """Pods that may take room which the plan leaves: pending ones, and those that are refused now."""
    refused = sum(pod in problem.refused for pod in problem.queue())
    pending = len(problem.queue()) - refused
    if pending:
        pods = f"{counted(pending, 'pod')} {are(pending)} pending"
        yield f"{pods} and may take the room that is left: place {'it' if pending == 1 else 'them'} first"
    if refused:
        pods = f"{counted(refused, 'pod')} {are(refused)} not created, as the API server refuses more"
        yield f"{pods}: no room is kept for when it takes them (`planner simulate` says why)"


def _thousandths(reserve: float) -> int:
    """A share in whole thousandths, rounded up."""
    if not 0 <= reserve < 1:
        raise InputError([f"reserve: expected a share from 0% to below 100%, found {reserve:.0%}"])
    return math.ceil(Fraction(str(reserve)) * 1000)


def _check(cluster: Cluster, choice: NodeChoice) -> None:
    for name in sorted((choice.keep | choice.named) - {node.name for node in cluster.nodes}):
        raise InputError([f"there is no node {name} in the cluster"])


def _nodes(found: CarriedOut) -> int:
    """How many nodes of the snapshot go."""
    return int((found.emptied.removed & ~found.setting.added).sum())


def _frontier(plans: Iterable[CarriedOut]) -> Iterator[FrontierPoint]:
    """The plans that no other one beats: with more moves each is cheaper than all before."""
    least: Decimal | None = None
    for found in sorted(plans, key=lambda one: (one.emptied.moves, one.cost)):
        if least is None or found.cost < least:
            least = found.cost
            yield FrontierPoint(nodes=_nodes(found), moves=found.emptied.moves, cost=float(found.cost))


def _least(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)
