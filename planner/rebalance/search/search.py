"""The search for the moves: bounds, then greedy repair, then the solver where that is not enough.

Constraints that share no pods are bounded one by one; they compete for room alone.  A tiny cluster is
searched exhaustively.  A small one is solved as a whole.  In a large one the constraints that are still
broken are repaired with what surrounds them: the nodes that come closest to having room, and the pods that
may move away from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from planner.cpsat.region import Region
from planner.eviction.protections import SOFT, Protections
from planner.landing.single_landings import SingleLandings
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.pin_policy import PinPolicy
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.proof.bounds import Assumption, Claim, Measured, ObjectiveStage, judge
from planner.proof.meter import Meter
from planner.rebalance.lower_bounds import LowerBounds, chained, proved_by
from planner.rebalance.search.exhaustive import Exhaustive, Values, is_tiny
from planner.rebalance.search.greedy import Greedy
from planner.rebalance.search.large_repair import Group, LargeRepair
from planner.rebalance.search.move_order import Key, MoveOrder
from planner.rebalance.search.placements import Placements
from planner.rebalance.search.regions import Regions

if TYPE_CHECKING:
    from planner.cpsat.moves import Shift

Found = tuple[list[Move], Values]


class _ModelVariant(IntEnum):
    """What a model of all nodes requires of moves; each variant requires more than the one before."""

    #: A final state within all bounds.
    ENDS = 0
    #: Pods come only to domains that stay within bounds.
    COMES = 1
    #: No pod leaves where none can be spared for a while, neither before all moves nor after them.
    SPARED = 2
    #: Every move could be the first.
    AT_ONCE = 3


#: The assumptions under which the bounds of a model hold for all moves; bounds of other models are not used.
_ASSUMES = {_ModelVariant.ENDS: (), _ModelVariant.COMES: (Assumption.NOTHING_WORSE,)}


@dataclass(frozen=True, slots=True)
class FoundMoves:
    """Moves in an order that holds, their values stage by stage, and claims about all moves."""

    moves: Sequence[Move]
    values: Values
    stages: Sequence[str]
    claims: Sequence[Claim]

    def judged(self) -> Iterator[ObjectiveStage]:
        """Every stage of the objective with its verdict, for all of the moves."""
        return judge([Measured(name, self.values[name], largest=False) for name in self.stages], self.claims)


def stages_of(protections: Protections) -> tuple[str, ...]:
    """The stages of the objective, the most important first."""
    return "hardExcess", *(("softExcess",) if SOFT in protections.kinds else ()), "moves", "disruption"


class MoveSearch:
    """Searches for the fewest moves on a trial cluster, which it leaves as it found it."""

    def __init__(
        self,
        trial: TrialCluster,
        movable: Movable,
        protections: Protections,
        meter: Meter,
        most: int | None = None,
    ) -> None:
        self._trial = trial
        self._movable = movable
        self._protections = protections
        self._kinds = protections.kinds
        self._meter = meter
        self._most = most
        self._regions = Regions(trial, movable, protections)
        self._stages = stages_of(protections)
        self._start = trial.state.mark()
        self._bounds = LowerBounds(movable, self._regions, self._stages, most)
        self._claims: list[Claim] = []

    def run(self, *, natural: bool = False) -> FoundMoves:
        """The best moves found; with `natural` only moves to the scheduler's own choice."""
        broken = self._trial.ledger.broken(self._kinds)
        groups = self._bounds.groups(broken)
        self._learn(self._bounds.counted(groups))
        best = self._greedily(broken, natural=natural)
        self._tell(best[1])
        for step in self._steps:
            self._trial.state.rollback(self._start)
            if not self._is_open(best) or self._meter.over():
                break
            found = step(best, groups)
            if not natural:
                best = min(best, found, key=lambda one: self._key(one[1]))
            self._tell(best[1])
        self._trial.state.rollback(self._start)
        return FoundMoves(*best, self._stages, self._claims)

    def landing(self, known: Values, pin_policy: PinPolicy) -> Found | None:
        """Better moves than those known, each certain to land on its node; None if there are none.

        Only a tiny cluster is searched for them.
        """
        if not is_tiny(self._trial, self._movable) or self._meter.over():
            return None
        self._meter.look_for("moves whose replacements land for certain")
        lone = SingleLandings.of_all(self._trial, self._movable, pin_policy)
        placements = Placements(self._trial, self._movable, self._protections, lone)
        outcome = Exhaustive(placements, self._stages, known, self._floor()).run(self._most, self._meter)
        return None if outcome.moves is None else ([*outcome.moves], outcome.values)

    def _tell(self, values: Values) -> None:
        """Report the best result so far, and its bound, as progress."""
        floor = self._floor()
        self._meter.have(
            f"{values['moves']} moves leave {values['hardExcess']} pods too many; "
            f"at least {floor['moves']} moves and {floor['hardExcess']} pods"
        )

    def _learn(self, claims: Iterable[Claim]) -> None:
        """Keep claims, unless labels follow nodes: they count pods by the labels of their manifests."""
        if not self._trial.problem.labels_follow_nodes:
            self._claims += claims

    @property
    def _steps(self) -> Sequence[Callable[[Found, Sequence[Group]], Found]]:
        """The methods that follow greedy repair, one after the other until the result is proved."""
        pairs = len([*self._movable.templates]) * self._trial.problem.nodes.size
        if pairs > effort.REGION_VARIABLES:
            return self._chained, self._relaxed, self._nearby
        if not is_tiny(self._trial, self._movable):
            return self._previewed, self._relaxed, self._chained, self._solved
        return self._previewed, self._relaxed, self._solved, self._exhausted

    def _is_open(self, found: Found) -> bool:
        """Whether moves could be better, as far as is known."""
        return not all(stage.proved for stage in FoundMoves(*found, self._stages, self._claims).judged())

    def _key(self, values: Values) -> tuple[int, ...]:
        return tuple(values[name] for name in self._stages)

    def _floor(self) -> Values:
        """A lower bound in every stage, on moves that are at the lower bounds of the stages before."""
        floor: dict[str, int] = {}
        for name in self._stages:
            known = (c.bound.value for c in self._claims if c.stage == name and c.speaks_of(floor))
            floor[name] = max(known, default=0)
        return floor

    def _values(self, moves: Iterable[Move]) -> Values:
        """The values of moves that have just been made."""
        pods = [move.pod for move in moves]
        return {
            "hardExcess": self._trial.ledger.excess(hard=True),
            "softExcess": self._trial.ledger.excess(hard=False),
            "moves": len(pods),
            "disruption": int(self._movable.weights[pods].sum()) if pods else 0,
        }

    def _greedily(self, broken: Sequence[TrackedConstraint], *, natural: bool) -> Found:
        self._meter.look_for("moves that the scheduler makes by itself")
        moves = self._remembering([]).repair(broken, self._left([]), natural=natural)
        return moves, self._values(moves)

    def _relaxed(self, best: Found, groups: Sequence[Group]) -> Found:
        """No other moves, but tighter bounds."""
        self._meter.look_for("bounds on the moves")
        self._set(best[0])
        loose = self._bounds.loose(groups, best[0])
        self._trial.state.rollback(self._start)
        self._learn(self._bounds.relaxed(groups, loose, self._meter))
        return best

    def _previewed(self, best: Found, _: Sequence[Group]) -> Found:
        """The result of an exhaustive search with a small work limit."""
        tiny = is_tiny(self._trial, self._movable)
        return self._tried_out(
            best, self._meter.step(effort.TINY_PREVIEW_WORK if tiny else effort.SMALL_PREVIEW_WORK)
        )

    def _exhausted(self, best: Found, _: Sequence[Group]) -> Found:
        """The result of an exhaustive search."""
        return self._tried_out(best, self._meter)

    def _tried_out(self, best: Found, meter: Meter) -> Found:
        self._meter.look_for("better moves by trying out all of them")
        search = Exhaustive(self._placements, self._stages, best[1], self._floor())
        outcome = search.run(self._most, meter)
        if outcome.complete:
            self._prove(outcome.values, meter)
        return best if outcome.moves is None else ([*outcome.moves], outcome.values)

    def _prove(self, best: Values, meter: Meter) -> None:
        """Claim bounds that include moves which make a constraint worse only while a pod is away."""
        search = Exhaustive(self._placements, self._stages, best, self._floor(), loose=True)
        outcome = search.run(self._most, meter)
        if outcome.complete:
            source = "trying out all moves"
            self._learn(chained(self._stages, outcome.values, source, Assumption.NOTHING_WORSE))

    @cached_property
    def _placements(self) -> Placements:
        return Placements(self._trial, self._movable, self._protections)

    def _solved(self, best: Found, _: Sequence[Group]) -> Found:
        """Better moves than the best so far, if the solver finds any, and the bounds that it proves."""
        self._meter.look_for("better moves with a model of all nodes")
        templates, nodes = list(self._movable.templates), np.arange(self._trial.problem.nodes.size)
        constraints = [d for d in self._trial.ledger.constraints if d.hard or SOFT in self._kinds]
        tried = [best]
        for model in _ModelVariant:
            tight = model is _ModelVariant.AT_ONCE
            region = self._regions.exact(templates, constraints, nodes, tight=tight, moved=set())
            shift = self._shift(region, model)
            if shift is None:
                continue
            if model in _ASSUMES:
                bounds = proved_by(shift, self._stages)
                self._learn(chained(self._stages, bounds, "a model of all nodes", *_ASSUMES[model]))
            found = self._following(region, shift)
            self._trial.state.rollback(self._start)
            # Of equally good moves the ones from the stricter model.
            tried.insert(1, found)
            best = min(tried, key=lambda one: self._key(one[1]))
            done = all(found[1][name] == value for name, value in shift.values.items())
            if done or not self._is_open(best) or self._meter.over():
                break
        return best

    def _following(self, region: Region, shift: Shift) -> Found:
        """The best moves from a region's solution; moves left over come first in the next attempt."""
        found: list[Found] = []
        first: dict[Key, int] = {}
        for attempt in range(effort.SEQUENCES_OF_MOVES):
            self._trial.state.rollback(self._start)
            sequencer = MoveOrder.following(self._trial, self._movable, region, shift, first)
            moves = sequencer.run(self._meter.over)
            found.append((moves, self._values(moves)))
            if not sequencer.left or self._meter.over():
                break
            first |= dict.fromkeys(sequencer.left, attempt)
        return min(found, key=lambda one: self._key(one[1]))

    def _shift(self, region: Region, kind: _ModelVariant) -> Shift | None:
        """The best solution of the solver: first with the excess fixed at its lower bound."""
        from planner.cpsat.moves import MoveModel

        excess, work = self._floor()["hardExcess"], effort.EXACT_REGION_WORK
        make = partial(
            MoveModel, region, arriving=kind > _ModelVariant.ENDS, returning=kind is _ModelVariant.SPARED
        )
        if self._most is None:
            model = make(hard_excess=excess)
            shift = model.solve(self._stages[1:], self._meter.part(work), work)
            if shift is not None:
                known = {"hardExcess": excess}
                return replace(shift, values={**known, **shift.values}, bounds={**known, **shift.bounds})
        model = make(most_moves=self._most)
        return model.solve(self._stages, self._meter.part(work), work)

    def _chained(self, best: Found, groups: Sequence[Group]) -> Found:
        """Repair by chains: after an exchange, from the start, or after the best moves so far."""
        floor = self._floor()["hardExcess"]
        if best[1]["hardExcess"] == floor:
            return best
        self._meter.look_for("chains of moves that make room")
        repair = LargeRepair(self._trial, self._movable, self._regions, groups, self._meter)
        for start in (repair.exchanged(self._remembering([])), [], best[0]):
            if best[1]["hardExcess"] > floor and not self._meter.over():
                self._set(start)
                moves = [*start, *repair.chains(self._remembering(start), self._left(start))]
                best = min(best, (moves, self._values(moves)), key=lambda found: self._key(found[1]))
        return best

    def _nearby(self, best: Found, groups: Sequence[Group]) -> Found:
        """Repair what is still broken with the solver, a few nodes at a time."""
        if best[1]["hardExcess"] == self._floor()["hardExcess"]:
            return best
        self._meter.look_for("moves on the nodes that come closest to having room")
        self._set(best[0])
        meter = self._meter.part(effort.NEARBY_SHARE * self._meter.left())
        repair = LargeRepair(self._trial, self._movable, self._regions, groups, meter)
        moves = [*best[0], *repair.solved(best[0], self._most)]
        return moves, self._values(moves)

    def _set(self, moves: Iterable[Move]) -> None:
        """Put the trial cluster into the state after just these moves."""
        self._trial.state.rollback(self._start)
        for move in moves:
            self._trial.make(move)

    def _left(self, moves: Sequence[Move]) -> int | None:
        return None if self._most is None else self._most - len(moves)

    def _remembering(self, moves: Sequence[Move]) -> Greedy:
        greedy = Greedy(self._trial, self._movable, self._protections)
        greedy.remember(moves)
        return greedy
