"""A small batch solved node by node, with every stage of the objective."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from planner.batch.every_sequence import EverySequence, are_few
from planner.batch.goals import SoftGoal
from planner.batch.incumbent import Incumbent, Proof
from planner.batch.pending import Pending
from planner.proof.effort import ExactEffort
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement, Step


def is_tiny(pending: Pending, effort: ExactEffort) -> bool:
    """Whether nothing but the exact model is worth trying."""
    return _pairs(pending) <= effort.tiny_pairs


def is_small(pending: Pending, effort: ExactEffort) -> bool:
    """Whether every template and node can have a variable of their own."""
    return _pairs(pending) <= effort.small_pairs


class Exact:
    """Solves the batch and brings what it finds into an order."""

    def __init__(
        self, pending: Pending, orderer: Orderer, soft_goals: Sequence[SoftGoal], meter: Meter
    ) -> None:
        self._pending = pending
        self._orderer = orderer
        self._soft_goals = soft_goals
        self._meter = meter
        self._effort = meter.effort

    def preview(self, best: Incumbent) -> None:
        """Offer what little work finds, and take note of what it proves."""
        self._offer_solved(best, self.solve(best.steps or (), preview=True))

    def run(self, best: Incumbent, hint: Sequence[Step]) -> int | None:
        """Offer the best plan; how many pods a final state holds, where no order led to as many.

        What is close to the best is no good hint: with it the last pods take longer to find.
        """
        solved = self.solve(hint)
        if solved is None:
            # Amounts whose sums are too large for the solver do not matter here.
            if self.is_few() and not self._meter.over():
                self._go_through(best, self._meter.step(self._effort.sequences.at_once_work))
            return None
        (placement,), proof = solved
        best.learn(proof)
        best.offer(self._in_order([placement]))
        final_pods = None if best.all_placed() else self._place_more(best)
        if self.is_few() and best.all_placed() and not best.perfect():
            # The model of all orders promised too much: the best of all sequences with as many pods.
            pods = best.pods()
            self._offer_solved(best, self.solve((), sum(pods.values()), one_by_one=True, pods=pods))
        return final_pods

    def is_few(self) -> bool:
        """Whether the batch is so small that nothing is to be missed."""
        return sum(self._pending.wanted.values()) <= self._effort.sequences.at_once

    def _place_more(self, best: Incumbent) -> int | None:
        """Look for an order that places more; how many pods a final state holds."""
        if self.is_few():
            self._go_through(best, self._meter.step(self._effort.sequences.at_once_work))
        final_pods = self._run_in_phases(best)
        if not best.all_placed():
            self._go_through(best, self._meter)
        return final_pods

    def _go_through(self, best: Incumbent, meter: Meter) -> None:
        """Where no order was found for the placement of a small batch, try all sequences."""
        if not are_few(self._pending, self._effort.sequences):
            return
        search = EverySequence(self._pending, meter)
        placed = self._pending.placed(best.steps or ())
        done = search.run(placed, best.bounds())
        if search.best is not None:
            best.offer(self._orderer.extend(search.best.binds, self._pending.pods))
        if done:
            pods = best.pods()
            best.learn(Proof(pods, pods, "the search through all sequences"))
            # One with as many pods may be better in the softer stages.
            self._offer_solved(best, self.solve(best.steps or (), pods=pods))

    def _offer_solved(self, best: Incumbent, solved: tuple[Sequence[Placement], Proof] | None) -> None:
        """Offer what was found, and take note of what it proved."""
        if solved is not None:
            best.learn(solved[1])
            best.offer(self._in_order(solved[0]))

    def _run_in_phases(self, best: Incumbent) -> int | None:
        """Where no order was found for the placement, ask for one that comes about in phases."""
        final_pods = None
        for phases in self._effort.exact.phases:
            solved = self.solve((), phases)
            if solved is None:
                return final_pods
            if phases == 1:
                final_pods = sum(solved[0][0].values())
            best.offer(self._in_order(solved[0]))
            if best.all_placed():
                return final_pods
        pods = sum(self._pending.wanted.values())
        if pods * _pairs(self._pending) <= self._effort.exact.one_by_one_triples:
            self._offer_solved(best, self.solve((), pods, one_by_one=True))
        return final_pods

    def solve(
        self,
        hint: Sequence[Step],
        phases: int = 0,
        *,
        one_by_one: bool = False,
        pods: Mapping[str, int] | None = None,
        preview: bool = False,
    ) -> tuple[Sequence[Placement], Proof] | None:
        """The best placement, perhaps with just so many pods; None when none was found in time.

        With one phase it is a final state.  A `preview` takes little work.
        """
        from planner.cpsat.model import BatchModel, Goal
        from planner.cpsat.variables import Batch

        if self._meter.over():
            return None
        pending = self._pending
        final = phases == 1 and not one_by_one
        batch = Batch(pending.problem, pending.wanted, pending.room(pending.wanted, final_state=final))
        model = BatchModel(
            batch,
            pending.profiles(final_state=final),
            phases=phases,
            running=pending.running_by_profile() if final else None,
            one_by_one=one_by_one,
        )
        if pods is not None:
            model.exactly(pods)
        soft_work = self._effort.exact.pods_work if one_by_one else self._effort.exact.soft_work
        soft = [
            Goal(goal.name, goal.express(model.counts), goal.largest, soft_work, open=one_by_one)
            for goal in self._soft_goals
        ]
        effort = self._effort.exact
        pods_work = effort.preview_work if preview else effort.pods_work
        goals = [*model.pods_placed(pods_work, open=not preview), *soft]
        found = model.solve(goals, Counter(hint), self._meter)
        return None if found is None else (found.phases, Proof(found.values, found.bounds, "the exact model"))

    def _in_order(self, phases: Sequence[Placement]) -> list[Step]:
        """The placement in an admissible order, as much of it as possible, and then what else fits."""
        return self._orderer.extend(self.ordered(phases), self._pending.pods)

    def ordered(self, phases: Sequence[Placement]) -> list[Step]:
        """The placement in an admissible order, or as much of it as an order was found for."""
        steps = self._orderer.follow(phases, self._pending.pods)
        if len(phases) > 1 or len(steps) == sum(phases[0].values()):
            return steps
        return self._orderer.search(phases[0], self._pending.pods, self._meter) or steps


def _pairs(pending: Pending) -> int:
    return sum(int(mask.sum()) for mask in pending.static.values())
