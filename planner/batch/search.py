"""The search for the best plan: kube-scheduler's own first, then models of the whole batch.

Small batches are solved exactly.  Large ones are solved over cells of nodes, which bounds what any
plan can do; the quotas that come out are dealt out to nodes, and brought into an admissible order.
Whatever places the most wins, and the search ends when nothing better is possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from planner.batch.assignment import Assignment
from planner.batch.pending import Pending
from planner.cells import Cells
from planner.clock import Clock
from planner.nodes import Ints
from planner.order import Orderer, Placement, Step

#: Up to so many pairs of a template and a node the batch is solved exactly.
_MOST_PAIRS = 20_000
#: Up to so many pairs of a template and a cell the nodes are told apart.
_MOST_CELL_PAIRS = 40_000
#: How full cells may become, one try after the other: tightly packed ones do not work out node by node.
_FULLNESS = (1.0, 0.97, 0.93, 0.9)
#: The most work on one stage of a model, in the solver's own seconds.
_EFFORT = 20.0

#: Told the pods placed so far and the most that any plan could place.
Watch = Callable[[int, int], None]
_Bounds = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """Binds in their order; per priority the most that any plan could have; what a final state holds."""

    steps: Sequence[Step]
    bounds: _Bounds
    final_pods: int | None = None


class Search:
    """Looks for the best plan until it is found, or the time is up."""

    def __init__(self, pending: Pending, clock: Clock, watch: Watch | None = None) -> None:
        self._pending = pending
        self._clock = clock
        self._watch = watch
        self._orderer = Orderer(pending.problem, pending.state, pending.frameworks)
        self._best: Sequence[Step] = ()
        self._bounds = self._trivial_bounds()

    def _trivial_bounds(self) -> _Bounds:
        """Per priority, the pods that some node could take at all."""
        bounds = dict.fromkeys(self._pending.priorities, 0)
        for number, pods in self._pending.pods.items():
            if self._pending.settled[number].any():
                bounds[self._pending.priority(number)] += len(pods)
        return tuple(bounds.values())

    def sequence(self) -> Result:
        """The best plan that an order of admissible binds leads to."""
        self._offer(self._greedy())
        final_pods = None
        if not self._done() and self._is_small():
            final_pods = self._solve_exactly()
        elif not self._done():
            self._solve_by_cells()
        return Result(self._best, self._bounds, final_pods)

    def final_state(self) -> Result:
        """The best placement in which every constraint holds at the end."""
        placement = self._exact((), final=True) if self._is_small() else None
        if placement is None:
            self._offer(self._greedy())
            return Result(self._best, self._bounds)
        ordered = self._ordered(placement)
        rest = Counter(placement) - Counter(ordered)
        return Result([*ordered, *rest.elements()], self._bounds, sum(placement.values()))

    def _done(self) -> bool:
        """Whether nothing better is possible, or there is no time to look for it."""
        return self._pending.placed(self._best) >= self._bounds or self._clock.over()

    def _offer(self, steps: Sequence[Step]) -> None:
        """Keep a plan if it is better than the best so far."""
        if not self._best or self._pending.placed(steps) > self._pending.placed(self._best):
            self._best = steps
            self._tell()

    def _tell(self) -> None:
        if self._watch is not None:
            self._watch(len(self._best), sum(self._bounds))

    def _tighten(self, bounds: Mapping[str, int]) -> None:
        """Take over a model's bounds as far as it got; each one presumes that those before are reached."""
        new = list(self._bounds)
        for position, priority in enumerate(self._pending.priorities):
            new[position] = bounds.get(f"podsPlaced/{priority}", new[position])
        self._bounds = min(self._bounds, tuple(new))
        self._tell()

    def _greedy(self) -> list[Step]:
        """What the reference scheduler does, step by step."""
        return [
            (int(self._pending.problem.template_of[decision.pod]), decision.node)
            for decision in self._pending.scheduler.run()
            if decision.node is not None
        ]

    def _is_small(self) -> bool:
        pairs = sum(int(mask.sum()) for mask in self._pending.settled.values())
        return pairs <= _MOST_PAIRS

    def _solve_exactly(self) -> int | None:
        """Offer the exact model's plan; how many pods a final state holds where no order led to as many."""
        placement = self._exact(self._best, final=False)
        if placement is None:
            return None
        plan = self._in_order(placement)
        self._offer(plan)
        if self._pending.placed(plan) == self._pending.placed(placement):
            return None
        bounds = self._bounds
        final = self._exact(self._best, final=True)
        self._bounds = bounds
        if final is None:
            return None
        self._offer(self._in_order(final))
        return sum(final.values())

    def _exact(self, hint: Sequence[Step], *, final: bool) -> Placement | None:
        """The exact model's placement, node by node; None when it found none in time."""
        from planner.cpsat.model import Model
        from planner.cpsat.variables import Batch

        if self._clock.over():
            return None
        pending = self._pending
        batch = Batch(pending.problem, pending.wanted, pending.room(pending.wanted))
        model = Model(batch, pending.profiles(), final=final)
        found = model.solve(model.pods_placed(), Counter(hint), self._clock, _EFFORT)
        if found is None:
            return None
        self._tighten(found.bounds)
        return found.coming

    def _solve_by_cells(self) -> None:
        """Offer plans that models over cells of nodes lead to, until one reaches their bound."""
        room = self._pending.room(self._pending.wanted)
        cells = Cells.alike(
            self._pending.problem.nodes.size, self._traits(), _MOST_CELL_PAIRS // len(self._pending.pods)
        )
        for fullness in _FULLNESS:
            if self._done():
                return
            quotas = self._quotas(cells, room, fullness)
            if quotas is None:
                return
            placement = Assignment(self._pending, cells, room).deal(quotas)
            self._offer(self._in_order(placement))

    def _traits(self) -> Iterator[NDArray[Any]]:
        """What tells nodes apart: what rules look at first, then who may come, then what they offer."""
        for filters, templates in self._pending.profiles():
            for plugin in filters:
                for number in templates:
                    yield from plugin.tells_apart(self._pending.template(number))
        yield from self._pending.settled.values()
        yield from self._pending.problem.allocatable

    def _quotas(self, cells: Cells, room: Mapping[int, Ints], fullness: float) -> Placement | None:
        """How many pods of each template go to each cell; at full room this bounds every plan."""
        from planner.cpsat.model import Model
        from planner.cpsat.variables import Batch

        pending = self._pending
        batch = Batch(pending.problem, pending.wanted, room, cells=cells)
        model = Model(batch, pending.profiles(), final=False, fullness=fullness)
        found = model.solve(model.pods_placed(), None, self._clock, _EFFORT)
        if found is None:
            return None
        if fullness == 1.0:
            self._tighten(found.bounds)
        return found.coming

    def _in_order(self, placement: Placement) -> list[Step]:
        """The placement in an admissible order, as much of it as possible, and then what else fits."""
        return self._orderer.extend(self._ordered(placement), self._pending.pods)

    def _ordered(self, placement: Placement) -> list[Step]:
        """The placement in an admissible order, or as much of it as an order was found for."""
        steps = self._orderer.follow(placement, self._pending.pods)
        if len(steps) == sum(placement.values()) or not self._is_small():
            return steps
        return self._orderer.search(placement, self._pending.pods, self._clock) or steps
