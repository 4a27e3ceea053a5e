"""The search for the best plan: small batches are solved exactly, large ones over cells of nodes.

kube-scheduler's own plan is the one to beat: it comes first where it is quick to have, and in any case
where the batch did not fit as a whole.  The search ends when nothing better is possible or the time
is up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from models.errors import NoAnswer
from planner.audit.final_state import stands
from planner.batch.coarse import Coarse
from planner.batch.exact import Exact, is_small, is_tiny
from planner.batch.goals import PlanShape, soft_goals
from planner.batch.incumbent import Incumbent, Watch
from planner.batch.neighbourhood_search import NeighbourhoodSearch
from planner.batch.packing.shaping import Shaping
from planner.batch.pending import Pending
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Step

#: After how many binds of the reference scheduler progress is reported.
_NOW_AND_THEN = 64
#: What a search of a batch looks for, in the words of the note that tells where it was ended.
MOST_PODS = "the most pods"


@dataclass(frozen=True, slots=True)
class Result:
    """The best plan with all that is known about it; how many pods a final state holds where that is more.

    `is_reference` when no final state was found, and the steps are kube-scheduler's own.
    """

    best: Incumbent
    final_pods: int | None = None
    is_reference: bool = False

    @property
    def steps(self) -> Sequence[Step]:
        return self.best.steps or ()


class BatchSearch:
    """Looks for the best plan until it is found, or the time is up."""

    def __init__(
        self,
        pending: Pending,
        meter: Meter,
        shape: PlanShape | None,
        watch: Watch | None = None,
        known: Sequence[Sequence[Step]] = (),
    ) -> None:
        """Without a shape none is looked for.

        `known` are plans that are there already; the first one is the reference scheduler's.
        """
        self._pending = pending
        self._known = known
        self._meter = meter
        self._watch = watch
        self._orderer = Orderer(pending)
        self._chosen: dict[int, int] = {}
        self._shape, is_stable = shape, shape == PlanShape.STABLE
        self._soft_goals = soft_goals(pending, shape, Counter(self._greedy if is_stable else ()))
        #: The nodes that the reference scheduler chooses for pods, where the plan is to stay near them.
        self.usual: Mapping[int, int] = self._chosen if is_stable else {}
        self._best = Incumbent(pending, self._soft_goals, watch)

    @cached_property
    def _greedy(self) -> list[Step]:
        """What the reference scheduler does, step by step.

        All of it, unless a stop is requested meanwhile; one requested before waits, for want of another plan.
        """
        if self._known:
            return [*self._known[0]]
        stopped = self._meter.stopped
        template_of, steps = self._pending.problem.template_of, list[Step]()
        total = len(self._pending.scheduler.queue)
        for decision in self._pending.scheduler.run():
            if decision.node is not None:
                steps.append((int(template_of[decision.pod]), decision.node))
                self._chosen[decision.pod] = decision.node
            if self._watch is not None and len(steps) % _NOW_AND_THEN == 0:
                self._watch(len(steps), total)
            if self._meter.stopped and not stopped:
                self._meter.cut_short()
                break
        return steps

    def sequence(self) -> Result:
        """The best plan that an order of admissible binds leads to, no worse than any that is known."""
        found = self._searched()
        for steps in self._known:
            if not self._best.perfect():
                self._best.offer(steps)
        return found

    def _searched(self) -> Result:
        self._meter.look_for(MOST_PODS)
        self._best.tell()
        exact, final_pods = self._exact(), None
        if is_tiny(self._pending, self._meter.effort.exact):
            self._best.offer(self._greedy)
            if exact.is_few():
                return Result(
                    self._best, None if self._best.perfect() else exact.run(self._best, self._greedy)
                )
            start = self._with_room_made()
            if not self._best.perfect():
                exact.preview(self._best)
            near = self._look_nearby(start)
        else:
            if not self._meter.over():
                self._coarse.offer_level(self._best)
            start = self._with_room_made() if self.usual or not self._best.is_even() else ()
            if not self._best.all_placed() and not self._meter.over():
                self._coarse.offer_modelled(self._best)
            near = self._look_nearby(start if self.usual else self._best.steps or ())
        if not self._best.all_placed() and is_small(self._pending, self._meter.effort.exact):
            final_pods = exact.run(self._best, self._greedy)
        if self._best.steps is not near:
            self._look_nearby(self._best.steps or ())
        if self._shape is not None and self._places_all() and not self._best.perfect():
            shaping = Shaping(self._pending, self._orderer, self._meter, self._best, self._coarse)
            shaping.improve(self._soft_goals[-1])
        return Result(self._best, final_pods)

    @cached_property
    def _coarse(self) -> Coarse:
        return Coarse(self._pending, self._orderer, self._meter)

    def _places_all(self) -> bool:
        return len(self._best.steps or ()) == sum(self._pending.wanted.values())

    def _with_room_made(self) -> Sequence[Step]:
        """Offer the reference scheduler's plan, and with more pods as others make room; the last of them."""
        self._best.offer(self._greedy)
        return self._nearby().with_room_made(self._greedy, self._best, self._orderer)

    def _nearby(self) -> NeighbourhoodSearch:
        home = Counter(self._greedy) if self.usual else None
        return NeighbourhoodSearch(self._pending, self._meter, home)

    def _look_nearby(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Change some steps a few nodes at a time, and offer what is better; what they end as."""
        if self._best.perfect() if self.usual else self._best.is_even():
            return steps
        return self._nearby().improve(steps, self._best, self._orderer)

    def final_state(self) -> Result:
        """The best placement in which every constraint holds at the end."""
        if not self._pending.pods:
            return self.sequence()
        self._meter.look_for("a final state in which every constraint holds")
        exact = self._exact()
        solved = exact.solve((), 1) if is_small(self._pending, self._meter.effort.exact) else None
        if solved is None and self._meter.cut is not None:
            looking_for, stopped = self._meter.cut
            if stopped:
                raise NoAnswer(f"stopped before {looking_for} was found")
            raise NoAnswer(f"the limit ended before {looking_for} was found: --time-limit sets a larger one")
        if solved is None:
            self._best.offer(self._standing(self._greedy))
            return Result(self._best, is_reference=True)
        (placement,), proof = solved
        ordered = exact.ordered([placement])
        rest = Counter(placement) - Counter(ordered)
        self._best.learn(proof)
        self._best.offer([*ordered, *rest.elements()])
        return Result(self._best)

    def _standing(self, steps: Sequence[Step]) -> Sequence[Step]:
        """As many of the first steps as lead to a state that stands."""
        tries = range(len(steps), 0, -max(1, len(steps) // self._meter.effort.exact.prefixes))
        lengths = (length for length in tries if self._stands(steps[:length]))
        return steps[: next(lengths, 0)]

    def _stands(self, steps: Sequence[Step]) -> bool:
        problem = self._pending.problem
        node_of = problem.node_of.copy()
        waiting = {number: list(pods) for number, pods in self._pending.pods.items()}
        for template, node in steps:
            node_of[waiting[template].pop()] = node
        return stands(problem, node_of)

    def _exact(self) -> Exact:
        return Exact(self._pending, self._orderer, self._soft_goals, self._meter)
