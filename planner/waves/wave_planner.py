"""Waves for moves, planned again with what failed put first, as long as that may help.

`WavePlanner` makes a `WavePlan`; `fill_waves` is the one loop that fills waves in an order:

| order | when it is used | what is worse without it |
|---|---|---|
| `CertainFirst` | always but where `ScarceRoom` is | it is the plain order |
| `ScarceRoom` | large clusters, few nodes for most moves | 5,000 nodes at 99 %: 154 left, 98 pins, not 8 |
| `OneMoveAWave` | where those leave moves over, or fail in replay | five next to full: 117 left, not 37 |
| `InTurn` | over the plans of these two | 99 %, 500 nodes: 311 waves, not 186; 5,000: 296, not 204 |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from planner.eviction.protections import SOFT
from planner.landing.landing import RESTRICTED, Considered, Landing, LandingContradiction
from planner.landing.single_landings import SingleLandings
from planner.moves.trial_cluster import EvictionTimeline, Move, TrialCluster
from planner.problem.nodes import Mask
from planner.proof import move_effort as effort
from planner.proof.meter import Meter
from planner.waves.candidates import Candidates, WaveRules, Within
from planner.waves.scarce_room import ScarceRoom, resolve, scarce_resources


def _never() -> bool:
    return False


class WaveOrder(Protocol):
    """Says which moves come next, and carries them out."""

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """The landings of the next wave; none if none of the moves `left` holds.

        An order may exchange moves that are left for others of the same pods.
        """

    def commit(self, wave: Sequence[Landing]) -> Sequence[Landing]:
        """Carry out a wave; its landings with the targets reached when ties go to the smallest name."""


def fill_waves(
    order: WaveOrder, moves: Sequence[Move], is_over: Callable[[], bool]
) -> tuple[list[Sequence[Landing]], Sequence[Move]]:
    """Waves for moves, and the moves that could not be scheduled safely."""
    waves, left = list[Sequence[Landing]](), list(moves)
    while left and not is_over():
        wave = order.next_wave(left)
        if not wave:
            break
        done = [landing.move for landing in wave]
        left = [move for move in left if move not in done]
        waves.append(order.commit(wave))
    return waves, left


class PlannedRoom:
    """What is free on the target nodes of the moves that are left when all of them are done."""

    def __init__(self, candidates: Candidates, left: Iterable[Move]) -> None:
        trial = self._trial = candidates.trial
        self._others, self._free = trial.problem.nodes.every.copy(), candidates.landings.room.free()
        for move in left:
            taken = trial.taken[trial.template(move.pod)]
            self._free[:, move.source] += taken
            self._free[:, move.target] -= taken
            self._others[move.target] = False

    def open_to(self, move: Move) -> Mask:
        """The nodes on which a replacement takes no room that is planned for other moves."""
        template, free = self._trial.template(move.pod), self._free.copy()
        free[:, move.target] += self._trial.taken[template]
        found: Mask = self._others | self._trial.has_room(template, free)
        return found


class CertainFirst:
    """As many moves as hold together; pinned moves only when no others can go first.

    What those others change may make the pin unnecessary.  With `in_order` no move takes the room of others.
    """

    def __init__(self, candidates: Candidates, *, in_order: bool = False) -> None:
        self._candidates, self._in_order = candidates, in_order
        self.commit = candidates.landings.commit

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """The moves that go first, while every landing is certain; else all without a pin; else with pins."""
        found = self._candidates
        if self._in_order:
            room = PlannedRoom(found, left)
            found.within = Within(room.open_to, room.open_to)
        pins = not found.rules.evict_only
        scores = found.work <= effort.SCORED or not pins
        unpinned, considered = Considered(pins=False, scores=scores), Considered(pins=pins, scores=scores)
        free = found.alone(found.ready(left), unpinned)
        rank = max((found.first.get(landing.move.pod, 0) for landing in free), default=0)
        free = [landing for landing in free if found.first.get(landing.move.pod, 0) == rank]
        by_scores = [landing for landing in free if landing.kind == "scores"]
        if by_scores:
            # While every landing is certain: a replacement with several possible nodes would end that.
            certain = [landing for landing in free if int(landing.nodes.sum()) == 1]
            return found.together(certain or [found.landings.most_certain(by_scores)])
        return found.together(free or found.alone(found.ready(left), considered, again=True))


class OneMoveAWave:
    """A move that holds alone: it depends on no other move under way."""

    def __init__(self, landings: SingleLandings) -> None:
        self._landings = landings
        self.commit = landings.commit

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """The landing of the next move, in the order of the plan; of the first few one that needs no pin.

        Where each goes in its turn, pinned or not, 89 small clusters have 111 pins, not 74.
        """
        targets, times = {move.target for move in left}, Counter(move.pod for move in left)
        seen, restricted = set[int](), list[Landing]()
        for number, move in enumerate(left):
            landing = None if move.pod in seen else self._landings.of(move)
            if (landing is None or landing.kind in RESTRICTED) and times[move.pod] == 1:
                landing = self._preferred(move, targets) or landing
            seen.add(move.pod)
            if landing is not None and landing.kind not in RESTRICTED:
                left[number] = landing.move
                return [landing]
            restricted += [] if landing is None else [landing]
            if len(restricted) == effort.PINNED_LAST:
                break
        return restricted[:1]

    def _preferred(self, move: Move, targets: Collection[int]) -> Landing | None:
        """The landing on the node that scores highest, if it is in the planned domain and no target."""
        trial, node = self._landings.trial, self._landings.preferred(move)
        domains = trial.domains(trial.template(move.pod))
        if node is None or node in targets or node == move.source or domains[node] != domains[move.target]:
            return None
        landing = self._landings.of(replace(move, target=node))
        return landing if landing is not None and landing.kind not in RESTRICTED else None


class InTurn:
    """The moves of a plan in its order, each to its nodes, together while none depends on another."""

    def __init__(self, candidates: Candidates, plan: WavePlan) -> None:
        self._candidates = candidates
        self._planned = {landing.move: landing for wave in plan.waves for landing in wave}
        self._scarce = scarce_resources(candidates.timeline, plan.moves)
        candidates.within = Within(self._nodes, self._nodes)

    def next_wave(self, left: list[Move]) -> Sequence[Landing]:
        """As many of the next moves as land as planned whatever the others do."""
        wave: Sequence[Landing] = []
        for move, ready in zip(left, self._candidates.ready(left), strict=False):
            longer = [*wave, *self._alone(move)] if move is ready else wave
            found = self._candidates.together(longer)
            if len(found) <= len(wave):
                break
            wave = found
        return wave

    def commit(self, wave: Sequence[Landing]) -> Sequence[Landing]:
        done = self._candidates.landings.commit(wave)
        resolve(self._candidates.landings.room, done, self._scarce)
        return done

    def _nodes(self, move: Move) -> Mask:
        return self._planned[move].nodes

    def _alone(self, move: Move) -> Sequence[Landing]:
        kind = self._planned[move].kind
        considered = Considered(pins=kind in RESTRICTED, scores=kind == "scores")
        return self._candidates.alone([move], considered, again=True)


@dataclass(frozen=True, slots=True)
class WavePlan:
    """Waves, the moves that could not be scheduled safely, and the hard and soft excess that remains.

    `excess` counts soft excess only where soft constraints are to be repaired.  `weight` is the sum over all
    pods that move.  `soft_excess_left` is the soft excess where ties go to the smallest name, in any case.
    """

    waves: Sequence[Sequence[Landing]]
    left: Sequence[Move]
    excess: tuple[int, int]
    weight: int = 0
    soft_excess_left: int = 0

    @classmethod
    def nothing(cls, trial: TrialCluster, kinds: Collection[str], moves: Sequence[Move] = ()) -> WavePlan:
        """The empty plan: all of the moves are left over."""
        hard, soft = (trial.ledger.excess(hard=kind) for kind in (True, False))
        return cls((), moves, (hard, soft if SOFT in kinds else 0), 0, soft)

    @property
    def key(self) -> tuple[int, ...]:
        """The smaller, the better: excess, moves, pins, weight, soft excess, landings by scores."""
        by_scores = sum(landing.kind == "scores" for landing in self._landings)
        return *self.excess, len(self.moves), len(self.pinned), self.weight, self.soft_excess_left, by_scores

    @property
    def _landings(self) -> list[Landing]:
        return [landing for wave in self.waves for landing in wave]

    @property
    def moves(self) -> list[Move]:
        return [landing.move for landing in self._landings]

    @property
    def pinned(self) -> list[int]:
        """The pods whose replacements are pinned, or kept off cordoned nodes."""
        return [landing.move.pod for landing in self._landings if landing.kind in RESTRICTED]

    def is_as_planned(self, planned: Mapping[str, int]) -> bool:
        """Whether nothing could be better but the number of landings that rely on scores."""
        more = len(self.moves) > planned["moves"]
        return not (self.left or self.misses(planned) or self.pinned or more or self.soft_excess_left)

    def misses(self, planned: Mapping[str, int]) -> bool:
        """Whether more excess remains than the moves were to leave."""
        return self.excess > (planned["hardExcess"], planned["softExcess"])


@dataclass(frozen=True, slots=True)
class WavePlanner:
    """Plans waves for moves on a trial cluster."""

    trial: TrialCluster
    rules: WaveRules
    meter: Meter

    def of(
        self,
        moves: Sequence[Move],
        planned: Mapping[str, int],
        others: Callable[[], Sequence[Move]] | None = None,
    ) -> WavePlan:
        """The best plan for the moves, or for `others` where the plan could be better."""
        best = self._in_waves(moves, planned)
        if others is not None and not self.is_large(moves):
            self.meter.look_for("landings that need no pin")
            if not (best.is_as_planned(planned) or self.meter.over()):
                best = min(best, self._in_waves(others(), planned), key=lambda one: one.key)
        self.meter.look_for("a safe wave for every move")
        is_small, one_by_one = self._size(moves) <= effort.ONE_MOVE_A_WAVE_MOST, self.is_large(moves)
        if (best.left or best.misses(planned)) and (is_small or self.rules.pin_policy):
            single = self.one_move_a_wave(moves, _never if is_small else self.meter.over)
            best = min(best, single, key=lambda one: one.key)
            one_by_one = one_by_one or best is single
        most_alone = 2 * len(best.waves) > len(best.moves)
        return self.with_fewer_waves(best) if one_by_one and most_alone else best

    def _size(self, moves: Sequence[Move]) -> int:
        return len(moves) * self.trial.problem.nodes.size

    def is_large(self, moves: Sequence[Move]) -> bool:
        """Whether planning takes so long that it is done again only for moves that are left over."""
        return self._size(moves) > effort.PLANNED_ONCE

    def one_move_a_wave(self, moves: Sequence[Move], is_over: Callable[[], bool] = _never) -> WavePlan:
        """The moves one after the other, one per wave, even if the time is over: often only that moves all.

        Where it was cut off, two clusters with --soft kept 22 pods too many; they keep 9.
        """
        timeline = self._timeline(moves)
        landings = SingleLandings(timeline, self.rules.pin_policy)
        return self._filled(timeline, OneMoveAWave(landings), moves, is_over)

    def with_fewer_waves(self, plan: WavePlan) -> WavePlan:
        """A plan of which most moves go alone, with neighbours together that do not depend on each other."""
        timeline = self._timeline(plan.moves)
        candidates = Candidates(timeline, plan.moves, self.rules, kept=effort.SCARCE_HISTOGRAMS_KEPT)
        found = self._filled(timeline, InTurn(candidates, plan), plan.moves, self.meter.over)
        if found.left or found.key > plan.key:
            return plan
        return replace(found, left=plan.left)

    def _in_waves(self, moves: Sequence[Move], planned: Mapping[str, int]) -> WavePlan:
        """The moves in waves, each open to all nodes that are as good, even if the time is over."""
        self.meter.look_for("a safe wave for every move")
        if not (self.is_large(moves) and self._have_few_nodes(moves)):
            return self._again_and_again(moves, planned)
        timeline, nothing = self._timeline(moves), self._nothing(moves)
        candidates = Candidates(timeline, moves, self.rules, kept=effort.SCARCE_HISTOGRAMS_KEPT)
        judged = effort.SCARCE_JUDGED * self._size(moves)
        found = self._filled(
            timeline,
            ScarceRoom(candidates, moves),
            moves,
            lambda: candidates.work > judged and self.meter.over(),
        )
        return min(nothing, found, key=lambda one: one.key)

    def _have_few_nodes(self, moves: Sequence[Move]) -> bool:
        """Whether for most moves few nodes have room."""
        trial, free, pods = self.trial, self.trial.free(), 0
        for template, number in Counter(trial.template(move.pod) for move in moves).items():
            static = trial.plan(template).static
            fits = trial.has_room(template, free) & static
            pods += number * (int(fits.sum()) <= effort.SCARCE_ROOM * int(static.sum()))
        return pods > effort.SCARCE_MOVES * len(moves)

    def _again_and_again(self, moves: Sequence[Move], planned: Mapping[str, int]) -> WavePlan:
        """The best of several plans, each with what was left over or pinned in those before put first.

        Such moves have more options while every landing is certain; a large plan has none put first.  Where
        some are left all the same, or too much, all go in their own order, one of a workload at a time: else
        `tight-901` keeps 2 pods too many with --evict-only.
        """
        best, first = self._nothing(moves), dict[int, int]()
        # Waves are planned even if the search took all of the time.
        is_over: Callable[[], bool] = _never
        for rank in range(effort.FAILED_FIRST + 1):
            found, is_over = self._certain_first(moves, self.rules, first, is_over), self.meter.over
            best = min(best, found, key=lambda one: one.key)
            failed = {*found.pinned} | {move.pod for move in found.left}
            if self.is_large(moves) or failed <= {*first} or is_over():
                break
            first = first | dict.fromkeys(failed, rank + 1)
        if (best.left or best.misses(planned)) and not is_over():
            rules = replace(self.rules, limit=replace(self.rules.limit, most=1))
            found = self._certain_first(moves, rules, first, is_over, in_order=True)
            best = min(best, found, key=lambda one: one.key)
        return best

    def _certain_first(
        self,
        moves: Sequence[Move],
        rules: WaveRules,
        first: Mapping[int, int],
        is_over: Callable[[], bool],
        *,
        in_order: bool = False,
    ) -> WavePlan:
        timeline = self._timeline(moves)
        order = CertainFirst(Candidates(timeline, moves, rules, first), in_order=in_order)
        return self._filled(timeline, order, moves, is_over)

    def _timeline(self, moves: Sequence[Move]) -> EvictionTimeline:
        return EvictionTimeline.of(self.trial, moves)

    def _filled(
        self,
        timeline: EvictionTimeline,
        order: WaveOrder,
        moves: Sequence[Move],
        is_over: Callable[[], bool],
    ) -> WavePlan:
        """The plan in an order; the empty one if its landings contradict each other."""
        ledger, kinds = timeline.trial.ledger, (True, False)
        # The timeline has only the constraints that its moves touch.
        others = [self.trial.ledger.excess(hard=kind) - ledger.excess(hard=kind) for kind in kinds]
        try:
            waves, left = fill_waves(order, moves, is_over)
        except LandingContradiction:
            return self._nothing(moves)
        hard, soft = (ledger.excess(hard=kind) + more for kind, more in zip(kinds, others, strict=True))
        pods = [landing.move.pod for wave in waves for landing in wave]
        weight = int(self.rules.weights[pods].sum())
        return WavePlan(waves, left, (hard, soft if SOFT in self.rules.kinds else 0), weight, soft)

    def _nothing(self, moves: Sequence[Move]) -> WavePlan:
        return WavePlan.nothing(self.trial, self.rules.kinds, moves)
