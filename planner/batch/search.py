"""The search for the best plan: kube-scheduler's own first, then models of the whole batch.

Small batches are solved exactly, large ones over cells of nodes.  Whatever is best wins, and the
search ends when nothing better is possible or the time is up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from planner.batch.coarse import Coarse
from planner.batch.exact import Exact, is_small, is_tiny
from planner.batch.goals import Shape, wishes
from planner.batch.incumbent import Incumbent, Stage, Watch
from planner.batch.pending import Pending
from planner.clock import Clock
from planner.order import Orderer, Step

#: After how many binds of the reference scheduler whoever watches is told.
_NOW_AND_THEN = 64


@dataclass(frozen=True, slots=True)
class Result:
    """Binds in their order, how good they are, and how many pods a final state holds where that is more."""

    steps: Sequence[Step]
    stages: Sequence[Stage]
    final_pods: int | None = None


class Search:
    """Looks for the best plan until it is found, or the time is up."""

    def __init__(self, pending: Pending, clock: Clock, shape: Shape, watch: Watch | None = None) -> None:
        self._pending = pending
        self._clock = clock
        self._orderer = Orderer(pending.problem, pending.state, pending.frameworks)
        self._watch = watch
        self._greedy = self._schedule()
        self._wishes = wishes(pending, shape, Counter(self._greedy))
        self._best = Incumbent(pending, self._wishes, watch)

    def _schedule(self) -> list[Step]:
        """What the reference scheduler does, step by step; all of it, unless somebody wants to stop."""
        template_of, steps = self._pending.problem.template_of, list[Step]()
        total = len(self._pending.scheduler.queue)
        for decision in self._pending.scheduler.run():
            if decision.node is not None:
                steps.append((int(template_of[decision.pod]), decision.node))
            if self._watch is not None and len(steps) % _NOW_AND_THEN == 0:
                self._watch(len(steps), total)
            if self._clock.stopped:
                break
        return steps

    def sequence(self) -> Result:
        """The best plan that an order of admissible binds leads to."""
        self._best.offer(self._greedy)
        final_pods = None
        if not self._best.perfect() and not self._clock.over():
            final_pods = self._solve()
        return Result(self._best.steps, tuple(self._best.stages()), final_pods)

    def _solve(self) -> int | None:
        """Look for something better; how many pods a final state holds where no order leads there."""
        if not is_tiny(self._pending):
            Coarse(self._pending, self._orderer, self._clock).run(self._best)
        if is_tiny(self._pending) or (is_small(self._pending) and not self._best.all_placed()):
            return self._exact().run(self._best)
        return None

    def final_state(self) -> Result:
        """The best placement in which every constraint holds at the end."""
        exact = self._exact()
        solved = exact.solve((), 1) if is_small(self._pending) else None
        if solved is None:
            self._best.offer(self._greedy)
            return Result(self._best.steps, tuple(self._best.stages()))
        (placement,), proof = solved
        ordered = exact.ordered([placement])
        rest = Counter(placement) - Counter(ordered)
        self._best.learn(proof)
        self._best.offer([*ordered, *rest.elements()])
        return Result(self._best.steps, tuple(self._best.stages()))

    def _exact(self) -> Exact:
        return Exact(self._pending, self._orderer, self._wishes, self._clock)
