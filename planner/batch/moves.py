"""The search with moves: running pods may be evicted, to be bound elsewhere or to stay pending.

What kube-scheduler does is the first plan.  A relaxation over cells of nodes says how many pods any
plan could place; others go to gaps for pods that wait; packings by requests alone are tried; models
answer what is still open, and then keep the number of evictions down.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from planner.batch.every_sequence import EverySequence, are_few
from planner.batch.exact import is_small
from planner.batch.incumbent import Watch
from planner.batch.move_incumbent import Moved, MoveIncumbent, Placed
from planner.batch.neighbourhood_search import NeighbourhoodSearch
from planner.batch.packing.covers import Covers
from planner.batch.packing.filling import Filling, kept_on_current_node
from planner.batch.packing.tabu import Insertion
from planner.batch.packing.vectors import Arrangement, Vectors
from planner.batch.pending import Pending
from planner.batch.search import BatchSearch
from planner.batch.steps import Action, arrangement_of
from planner.documents.plan import MOVES
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes
from planner.proof.effort import EvictionEffort
from planner.proof.meter import Meter
from planner.scheduler.order import Placement, Step

if TYPE_CHECKING:
    from planner.cpsat.model import BatchModel, FoundCounts


def work_of_round(number: int, effort: EvictionEffort) -> float:
    """The work on a question: twice as much each time, until it is more than any limit has."""
    return effort.question_work * 2.0 ** min(number, effort.rounds_doubled)


class EvictionSearch:
    """Looks for the plan with the most pods, and among those for the fewest evictions."""

    def __init__(self, pending: Pending, meter: Meter, watch: Watch | None = None) -> None:
        self._pending = pending
        self._effort = meter.effort
        self._watch = watch
        self._is_small = is_small(pending, meter.effort.exact)
        pods = sum(pending.wanted.values())
        self._may_pack = 0 < pods * pending.problem.nodes.size <= self._effort.evictions.packed_places
        self._meter = meter
        #: For steps of fixed size, which only the clock ends.
        self._fixed = meter.step(math.inf)
        self._first = self._schedule(meter) if self._is_small else self._without_moves(meter)
        self._best = MoveIncumbent(pending, self._first, self._fixed, watch)

    def run(self) -> Moved:
        """The best plan until nothing better is possible, or the time is up."""
        self._best.tell()
        self._meter.look_for("the most pods")
        if self._go_through_a_few():
            return self._best.moved()
        self._place_more()
        self._meter.look_for("fewer moves")
        self._move_less()
        if not self._only_room_decides and not (self._best.all_placed() and self._best.has_least_moves()):
            self._go_through(self._meter)
        if not self._best.all_placed():
            self._take_unmoved(self._fixed)
        return self._best.moved()

    def _place_more(self) -> None:
        """Rounds of tries, each with more work, until no plan places more."""
        if not self._done():
            self._relax({})
        if not self._done():
            self._make_room()
        for number in count():
            if self._done() or not self._goes_on(number):
                break
            self._meter.spend(self._effort.evictions.price_of_round)
            self._pack(number)
            self._rule_out()
            self._solve_exactly(work_of_round(number, self._effort.evictions))
            if not number and not self._done():
                self._take_unmoved(self._meter.part(self._effort.evictions.unmoved_work))

    def _move_less(self) -> None:
        """The same pods with fewer moves."""
        self._pack_with_fewer_moves()
        self._save_moves(self._effort.evictions.preview_work)
        self._look_nearby()
        self._save_moves(self._effort.evictions.moves_work)

    def _go_through_a_few(self) -> bool:
        """Whether all sequences of a tiny batch were gone through at once."""
        pods = sum(self._pending.wanted.values())
        return pods <= self._effort.sequences.at_once and self._go_through(
            self._meter.step(self._effort.sequences.at_once_work)
        )

    def _go_through(self, meter: Meter) -> bool:
        """Try all sequences; whether that came to its end."""
        if not are_few(self._pending, self._effort.sequences):
            return False
        best = self._best
        search = EverySequence(self._pending, meter, best.may_end)
        done = search.run(best.placed, best.bounds, best.moves())
        if search.best is not None:
            best.keep_sequence(search.best)
        if done:
            best.nothing_is_better()
        return done

    def _take_unmoved(self, meter: Meter) -> None:
        """Where a better plan is not ruled out, the one without moves may be better: then it is taken."""
        if self._is_small and not meter.over():
            self._best.offer_unmoved(self._without_moves(meter))

    def _done(self) -> bool:
        """Whether no plan places more, or it is time to think of the moves."""
        return self._best.all_placed() or self._meter.over()

    def _without_moves(self, meter: Meter) -> list[Action]:
        """The best plan of a large batch in which nothing moves."""
        plain = Pending(self._pending.problem)
        pods = {number: list(found) for number, found in plain.pods.items()}
        steps = BatchSearch(plain, meter, None, self._watch).sequence().steps
        return [Action(pods[number].pop(), node, None) for number, node in steps]

    def _schedule(self, meter: Meter) -> list[Action]:
        """What the reference scheduler does, without preemption."""
        actions = []
        for decision in self._pending.scheduler.run():
            if decision.node is not None:
                actions.append(Action(decision.pod, decision.node, None))
            if meter.stopped:
                meter.cut_short()
                break
        return actions

    def _relax(self, known: Mapping[int, int]) -> None:
        """Take over bounds from cells of nodes, given how many pods the first priorities have."""
        found = relaxation(self._pending, known, self._fixed)
        if found is not None:
            self._best.tighten(found.bounds)

    def _by_priority(self, pods: Placed) -> dict[int, int]:
        return dict(zip(self._pending.priorities, pods, strict=False))

    def _goes_on(self, number: int) -> bool:
        """Whether a round of tries could still find or prove something."""
        if number < self._effort.evictions.rounds_of_all:
            return self._may_pack or self._is_small
        return self._may_pack and not are_few(self._pending, self._effort.sequences)

    def _pack(self, seed: int) -> None:
        """Offer packings by requests alone."""
        if self._done() or not self._may_pack:
            return
        self._fill(seed)
        if seed < self._effort.evictions.packing_seeds and not self._done():
            packing = Insertion(self._vectors, self._meter)
            self._best.offer(self._vectors.arrangement(packing.climb(self._start, seed)))

    def _fill(self, seed: int) -> None:
        """Offer a packing of nodes filled one by one, with as many pods more as work out."""
        for pods in self._pod_targets():
            if self._done():
                return
            filled = Filling(self._vectors, self._meter, seed).place(pods)
            if filled is not None:
                self._refine(self._vectors.arrangement(kept_on_current_node(self._vectors, filled)))
                return

    def _pod_targets(self) -> Iterator[dict[int, int]]:
        """Pods of every priority down to the first that is open: as many as its bound, then fewer."""
        if self._done():
            return
        placed, stage = self._best.placed, self._best.open_stage()
        more = self._best.bounds[stage] - placed[stage]
        while more:
            yield self._by_priority((*placed[:stage], placed[stage] + more))
            more //= 2

    def _pack_with_fewer_moves(self) -> None:
        """Offer packings of the same pods, staying on the current node being worth more and more."""
        work = self._meter.step(self._effort.evictions.stay_work)
        for seed, stay in enumerate(self._effort.evictions.stay_weights):
            if self._best.has_least_moves() or self._fixed.over() or not self._may_pack:
                return
            packing = Insertion(self._vectors, work)
            found = packing.at_once(self._start, self._by_priority(self._best.placed), seed, stay)
            if found is not None:
                self._best.offer(self._vectors.arrangement(found))

    def _make_room(self) -> None:
        """Offer more pods that come in as others go to gaps; of a large batch also a few nodes at a time."""
        nearby, placement = self._nearby(), self._best.placement()
        if not self._is_small:
            self._offer_each(nearby.every_better(placement, self._has_most_pods))
        elif (found := nearby.more_placed(placement, self._effort.ejections.work)) is not None:
            self._offer_each([found])

    def _look_nearby(self) -> None:
        """Offer what fewer moves a few nodes at a time lead to."""
        if not self._best.has_least_moves() and not self._fixed.over():
            self._offer_each(self._nearby().every_better(self._best.placement(), self._has_most_pods))

    def _nearby(self) -> NeighbourhoodSearch:
        home = Counter({step: len(pods) for step, pods in self._pending.running.items()})
        return NeighbourhoodSearch(self._pending, self._meter, home, self._effort.evictions.nearby_work)

    def _offer_each(self, placements: Iterable[Counter[Step]]) -> None:
        """Offer placements, as long as each is better than what is known."""
        for placement in placements:
            before = self._best.actions
            self._best.offer(Arrangement.of(placement, self._pending.running))
            if self._best.actions is before:
                break

    def _has_most_pods(self, placement: Placement) -> bool:
        return self._pending.placed(placement) >= self._best.bounds

    @cached_property
    def _vectors(self) -> Vectors:
        return Vectors(self._pending)

    @cached_property
    def _start(self) -> Codes:
        """The scheduler's own plan as a packing."""
        return self._vectors.places(arrangement_of(self._first, self._pending))

    @cached_property
    def _covers(self) -> Covers:
        return Covers(self._pending)

    @cached_property
    def _only_room_decides(self) -> bool:
        return self._pending.only_room_decides()

    def _rule_out(self) -> None:
        """Lower the first bound that is not reached for as long as covers rule it out: quick or no help."""
        if self._may_pack and self._is_small and self._only_room_decides:
            while not self._done() and self._ask_for_cover():
                pass

    def _ask_for_cover(self) -> bool:
        """Whether an answer about the first open bound changed anything."""
        before, stage = self._best.placed, self._best.open_stage()
        answer = self._covers.find(
            self._by_priority((*before[:stage], self._best.bounds[stage])), self._meter
        )
        if answer is None:
            return False
        if not isinstance(answer, Arrangement):
            self._best.lower(stage)
            self._relax(self._by_priority(self._best.bounds[: stage + 1]))
            return True
        self._refine(answer)
        return self._best.placed > before

    def _refine(self, arrangement: Arrangement) -> None:
        """Offer a packing of the first priorities with as many of the others as can be added."""
        self._best.offer(arrangement)
        packing = Insertion(self._vectors, self._meter)
        self._best.offer(self._vectors.arrangement(packing.climb(self._vectors.places(arrangement), 0)))

    def _solve_exactly(self, work: float) -> None:
        """Find out what is still open, and offer the exact model's plan."""
        if self._done() or not self._is_small:
            return
        model = exact_model(self._pending)
        now = self._best.arrangement()
        found = model.solve(model.pods_placed(work, open=True), now.coming, self._meter, now.staying)
        if found is not None:
            self._best.tighten(found.bounds)
            self._best.offer(Arrangement(found.phases[0], found.staying), thorough=True)

    def _save_moves(self, work: float) -> None:
        """Keep the pods placed, and look for fewer evictions."""
        if not self._is_small or self._best.has_least_moves() or self._fixed.over():
            return
        model = exact_model(self._pending)
        model.at_least(self._by_priority(self._best.placed))
        now = self._best.arrangement()
        found = model.solve([model.moves(work)], now.coming, self._fixed, now.staying)
        if found is not None:
            self._best.needs_moves(found.bounds[MOVES])
            self._best.offer(Arrangement(found.phases[0], found.staying), thorough=True)


def exact_model(pending: Pending) -> BatchModel:
    """A number for every template and node, with every budget."""
    model = _model(pending, None)
    for pods, allowed in pending.budgets:
        model.evict_at_most({int(pending.problem.template_of[pod]) for pod in pods}, allowed)
    return model


def relaxation(pending: Pending, known: Mapping[int, int], meter: Meter) -> FoundCounts | None:
    """The most pods over cells of nodes, given how many the first priorities have at most."""
    most = max(1, meter.effort.evictions.relaxed_pairs // max(1, len(pending.pods)))
    least = meter.effort.cells.least_alike
    cells = NodeGroups.alike(pending.problem.nodes.size, pending.traits(), most, least)
    model = _model(pending, cells)
    model.at_most(known)
    return model.solve(model.pods_placed(meter.effort.evictions.relaxation_work), None, meter)


def _model(pending: Pending, cells: NodeGroups | None) -> BatchModel:
    from planner.cpsat.model import BatchModel
    from planner.cpsat.variables import Batch

    room, running = pending.room(pending.wanted), pending.running_counts()
    batch = Batch(pending.problem, pending.wanted, room, cells=cells, running=running)
    return BatchModel(batch, pending.profiles())
