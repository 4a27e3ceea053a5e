"""Waves for the moves that the search found, or for other moves where those leave something broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from planner.eviction.protections import Protections
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.search.exhaustive import Values
from planner.rebalance.search.search import Found, FoundMoves, MoveSearch
from planner.rebalance.search.unpinned_moves import unpinned_moves
from planner.waves.limits import WaveRules
from planner.waves.wave_plan import WavePlan
from planner.waves.wave_planner import WavePlanner

_HELD = "nothing holds its replacement to the right nodes"


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Plans waves for moves; which other moves it tries depends on those that could not be scheduled."""

    trial: TrialCluster
    movable: Movable
    protections: Protections
    rules: WaveRules
    most: int | None
    meter: Meter
    wave_meter: Meter

    def of(self, search: MoveSearch, found: FoundMoves) -> tuple[WavePlan, WavePlan]:
        """The best plan, and the plan whose unscheduled moves are reported.

        The latter is the first plan if the best one schedules all of its moves but leaves too much.
        """
        planner = WavePlanner(self.trial, self.rules, self.wave_meter)
        moves, values, plan = self._searched_again(planner, found)
        best = first = planner.of(moves, values, partial(self._others, search), plan)
        instead = self._instead(search, planner, found, first)
        while best.left or best.misses(found.values):
            known = next(instead, None)
            if known is None:
                break
            best = min(best, planner.of(*known, lambda: ()), key=lambda one: one.key)
        return best, first if not best.left and best.misses(found.values) else best

    def _searched_again(
        self, planner: WavePlanner, found: FoundMoves
    ) -> tuple[Sequence[Move], Values, WavePlan]:
        """Moves, their values and their plan; in a large cluster other moves if only a few are left over.

        Otherwise those few would have nearly all the others pinned as well, to one certain node each.
        """
        every = moves, values, plan = (
            found.moves,
            found.values,
            planner.with_retries(found.moves, found.values),
        )
        # The stages of the objective that come before pins.
        counted, held = found.stages[: found.stages.index("moves") + 1], set[int]()
        for _ in range(effort.SCARCE_SEARCHES if planner.is_large(moves) else 0):
            if not 0 < len(plan.left) <= effort.SCARCE_FEW * len(moves) or self.meter.over():
                break
            held |= {move.pod for move in plan.left}
            again = self._search(self.movable.without(held, _HELD))
            if any(again.values[name] > found.values[name] for name in counted):
                break
            moves, values, plan = again.moves, again.values, planner.with_retries(again.moves, again.values)
        return every if plan.left or plan.misses(found.values) else (moves, values, plan)

    def _search(self, movable: Movable) -> FoundMoves:
        return MoveSearch(self.trial, movable, self.protections, self.meter, self.most).run()

    def _others(self, search: MoveSearch) -> Iterator[Sequence[Move]]:
        yield unpinned_moves(self.trial, self.movable, self.protections, self.most)
        if self.rules.evict_only:
            yield search.run(natural=True).moves

    def _instead(
        self, search: MoveSearch, planner: WavePlanner, found: FoundMoves, first: WavePlan
    ) -> Iterator[Found]:
        """Other moves to try one after the other; even the best of them may leave more than was found."""
        better = search.landing(self._achieved(first), self.rules.pin_policy)
        if better is not None:
            yield better
        pinnable = self.rules.pin_policy.pinnable
        left = [move for move in first.left if self.trial.template(move.pod) not in pinnable]
        if left and not planner.is_large(found.moves):
            yield from self._without(left)

    def _without(self, left: Sequence[Move]) -> Iterator[Found]:
        """Other moves without the pods that could not be scheduled, then without all of their templates."""
        pods = {move.pod for move in left}
        alike = {pod for move in left for pod in self.movable.of(self.trial.template(move.pod)).tolist()}
        for held in (pods, alike) if alike > pods else (pods,):
            if self.wave_meter.over():
                return
            found = self._search(self.movable.without(held, _HELD))
            if found.moves:
                yield [*found.moves], found.values

    def _achieved(self, plan: WavePlan) -> Values:
        """The values of the moves that are in waves."""
        pods = [landing.move.pod for wave in plan.waves for landing in wave]
        weight = int(self.movable.weights[pods].sum()) if pods else 0
        hard, soft = plan.excess
        return {"hardExcess": hard, "softExcess": soft, "moves": len(pods), "disruption": weight}
