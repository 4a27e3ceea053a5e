"""Waves for the moves that the search found, or for other moves where those leave something broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from planner.eviction.protections import SOFT, Protections
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.search.evaluation import Found, FoundMoves, Values
from planner.rebalance.search.greedy import unpinned_moves
from planner.rebalance.search.search import MoveSearch
from planner.waves.limits import WaveRules
from planner.waves.wave_plan import WavePlan
from planner.waves.wave_planner import WavePlanner

_HELD = "nothing holds its replacement to the right nodes"


@dataclass(frozen=True, slots=True)
class MoveTask:
    """What moves are planned for: a cluster, the pods that may move, what waves keep to, and the work."""

    trial: TrialCluster
    movable: Movable
    protections: Protections
    rules: WaveRules
    most: int | None
    meter: Meter
    wave_meter: Meter

    def search(self) -> MoveSearch:
        """A search for the fewest moves."""
        return MoveSearch(self.trial, self.movable, self.protections, self.meter, self.most)

    def without(self, pods: Iterable[int], reason: str) -> MoveTask:
        """The same task when some more pods stay, for a reason."""
        return replace(self, movable=self.movable.without(pods, reason))

    @property
    def is_bounded(self) -> bool:
        """Whether the number of evictions is limited, of all pods or of some."""
        rules = self.protections
        several = self.most, rules.most_per_node, rules.most_per_namespace
        return bool(self.movable.quotas) or several != (None, None, None)

    @property
    def nothing(self) -> WavePlan:
        """The plan without moves."""
        hard, soft = (self.trial.ledger.excess(hard=kind) for kind in (True, False))
        excess = hard, soft if SOFT in self.protections.kinds else 0
        return WavePlan((), (), excess, soft_excess_left=soft)


@dataclass(frozen=True, slots=True)
class PlannedMoves:
    """The moves that the search found, the best plan, and the plan whose unscheduled moves are reported.

    The latter is the first plan if the best one schedules all of its moves but leaves too much.
    """

    found: FoundMoves
    best: WavePlan
    reported: WavePlan


class Alternatives:
    """Plans waves for moves; which other moves it tries depends on those that could not be scheduled."""

    def __init__(self, task: MoveTask) -> None:
        self._task = task
        self._search = task.search()
        self._planner = WavePlanner(task.trial, task.rules, task.wave_meter)

    def plan(self) -> PlannedMoves:
        """The best plan that is found."""
        found = self._search.run()
        moves, values, plan = self._searched_again(found)
        best = first = self._planner.of(moves, values, self._others, plan)
        instead = self._instead(found, first)
        while best.left or best.misses(found.values):
            known = next(instead, None)
            if known is None:
                break
            best = min(best, self._planner.of(*known, lambda: ()), key=lambda one: one.key)
        return PlannedMoves(found, best, first if not best.left and best.misses(found.values) else best)

    def _searched_again(self, found: FoundMoves) -> tuple[Sequence[Move], Values, WavePlan]:
        """Moves, their values and their plan; in a large cluster other moves if only a few are left over.

        Otherwise those few would have nearly all the others pinned as well, to one certain node each.
        """
        every = moves, values, plan = self._with_plan(found)
        # The stages of the objective that come before pins.
        counted, held = found.stages[: found.stages.index("moves") + 1], set[int]()
        for _ in range(effort.SCARCE_SEARCHES if self._planner.is_large(moves) else 0):
            if not 0 < len(plan.left) <= effort.SCARCE_FEW * len(moves) or self._task.meter.over():
                break
            held |= {move.pod for move in plan.left}
            again = self._task.without(held, _HELD).search().run()
            if any(again.values[name] > found.values[name] for name in counted):
                break
            moves, values, plan = self._with_plan(again)
        return every if plan.left or plan.misses(found.values) else (moves, values, plan)

    def _with_plan(self, found: FoundMoves) -> tuple[Sequence[Move], Values, WavePlan]:
        return found.moves, found.values, self._planner.with_retries(found.moves, found.values)

    def _others(self) -> Iterator[Sequence[Move]]:
        task = self._task
        yield unpinned_moves(task.trial, task.movable, task.protections, task.most)

    def _instead(self, found: FoundMoves, first: WavePlan) -> Iterator[Found]:
        """Other moves to try one after the other; even the best of them may leave more than was found."""
        better = self._search.landing(self._achieved(first), self._task.rules.pin_policy)
        if better is not None:
            yield better
        template, pinnable = self._task.trial.template, self._task.rules.pin_policy.pinnable
        left = [move for move in first.left if template(move.pod) not in pinnable]
        if left and not self._planner.is_large(found.moves):
            yield from self._without(left)

    def _without(self, left: Sequence[Move]) -> Iterator[Found]:
        """Other moves without the pods that could not be scheduled, then without all of their templates."""
        task, pods = self._task, {move.pod for move in left}
        alike = {pod for move in left for pod in task.movable.of(task.trial.template(move.pod)).tolist()}
        for held in (pods, alike) if alike > pods else (pods,):
            if task.wave_meter.over():
                return
            found = task.without(held, _HELD).search().run()
            if found.moves:
                yield [*found.moves], found.values

    def _achieved(self, plan: WavePlan) -> Values:
        """The values of the moves that are in waves."""
        pods = [move.pod for move in plan.moves]
        weight = int(self._task.movable.weights[pods].sum()) if pods else 0
        hard, soft = plan.excess
        return {"hardExcess": hard, "softExcess": soft, "moves": len(pods), "disruption": weight}
