"""Moves that have no turn: how many, why, and what would give them one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from planner.documents.move_plan import MovePlan
from planner.eviction.protections import SOFT
from planner.landing.landing import Landing
from planner.moves.pin_policy import PinPolicy
from planner.moves.preemption_risk import PreemptionRisk
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.proof.meter import Meter
from planner.waves.one_by_one import OneByOne
from planner.waves.open_waves import WaveRules
from planner.waves.wave_planner import WavePlan


@dataclass(frozen=True, slots=True)
class UnscheduledMoves:
    """Speaks of the moves that a deal leaves."""

    trial: TrialCluster
    plan: WavePlan
    rules: WaveRules
    wave_meter: Meter

    def why(self, *, evict_only: bool) -> Iterator[str]:
        """How many moves have no turn, and why.

        Told apart are those whose replacements could preempt, and those that would have to be pinned, and
        cannot be.
        """
        left, total = len(self.plan.left), len(self.plan.left) + sum(map(len, self.plan.waves))
        if not left:
            return
        if self.wave_meter.cut is not None:
            yield f"{_are(left, total)} left out: the time was up before they had a turn"
            return
        risky = self._turns_with_preemption()
        for workload, number in self._by_workload(risky):
            yield (
                f"{_are(number, total)} left out: as long as the old pod ends, a replacement of {workload} "
                "could find no node and preempt pods of lower priority"
            )
        others = [move for move in self.plan.left if move not in risky]
        left = len(others)
        if evict_only and left:
            yield f"{_are(left, total)} left out: their pods would not land there by themselves"
        if evict_only or not left:
            return
        turns = [*dropwhile(lambda found: not self._is_impossible(found), self._turns_with_pins(others))]
        held = [landing.move for landing in turns if self._is_impossible(landing)]
        for workload, number in self._by_workload(held):
            yield (
                f"{_are(number, total)} left out: replacements of {workload} would have to be pinned, "
                "which takes a ReplicaSet or ReplicationController if nothing is to be rolled out"
            )
        if len(turns) > len(held):
            yield f"{_are(len(turns) - len(held), total)} left out: they come after those"
        if left > len(turns):
            yield f"{_are(left - len(turns), total)} left out: no safe order was found for them"

    def _by_workload(self, moves: Sequence[Move]) -> Sequence[tuple[str, int]]:
        """How many of some moves each workload has."""
        return sorted(Counter(self.trial.workloads[self.trial.template(move.pod)] for move in moves).items())

    def with_cordons(self, plan: Callable[[], MovePlan], excess: tuple[int, int]) -> Iterator[str]:
        """What a plan leaves that may cordon nodes: on small clusters tried, else only the flag is told."""
        left = {self.trial.template(move.pod) for move in self._unpinnable}
        if self.wave_meter.cut is not None or not PinPolicy.of(self.trial, left, cordon=True).cordonable:
            return
        problem = self.trial.problem
        small = len(problem.pods) * problem.nodes.size <= effort.TRIED_PLACES
        self.wave_meter.look_for("what cordons would help")
        if not small or self.wave_meter.over():
            yield f"--may-cordon keeps those that cannot be pinned off up to {effort.MOST_CORDONED} nodes"
            return
        found = plan()
        if self.wave_meter.over():
            return
        moves = len(found.steps)
        now = found.after.hard_excess, found.after.soft_excess if SOFT in self.rules.kinds else 0
        if now < excess:
            yield f"with --may-cordon a plan of {moves} leaves {sum(now)} too many{_cordons(found)}"
        else:
            yield "with --may-cordon no plan was found that leaves less"

    @property
    def _unpinnable(self) -> list[Move]:
        pinnable = self.rules.pin_policy.pinnable
        return [move for move in self.plan.left if self.trial.template(move.pod) not in pinnable]

    def _is_impossible(self, landing: Landing) -> bool:
        pinnable = self.rules.pin_policy.pinnable
        return landing.kind == "pinned" and self.trial.template(landing.move.pod) not in pinnable

    def _turns_with_pins(self, left: Sequence[Move]) -> Sequence[Landing]:
        """The turns that moves find after the others, one by one, if everybody can be pinned."""
        every = PinPolicy(frozenset(range(len(self.trial.problem.templates))))
        return self._single_file(left, replace(self.rules, pin_policy=every)) if self._unpinnable else ()

    def _turns_with_preemption(self) -> Sequence[Move]:
        """The moves that find a turn after the others only if their replacements may preempt."""
        risk = PreemptionRisk(self.trial)
        left = self.plan.left
        if not any(risk.is_possible(self.trial.template(move.pod)) for move in left):
            return ()
        known = {landing.move for landing in self._single_file(left, self.rules)}
        loose = self._single_file(left, replace(self.rules, lets_preempt=True))
        return [landing.move for landing in loose if landing.move not in known]

    def _single_file(self, left: Sequence[Move], rules: WaveRules) -> Sequence[Landing]:
        """The turns that moves find after the others, one by one; none are looked for in large clusters."""
        trial = self.trial
        if len(left) * trial.problem.nodes.size > effort.SINGLE_FILE:
            return ()
        done = [landing.move for wave in self.plan.waves for landing in wave]
        stage = EvictionTimeline(trial.problem, [*done, *left], trial)
        stage.put_all(done, Phase.LANDED)
        file = OneByOne(stage, left, rules)
        file.plan_waves(_never)
        return [landing for wave in file.waves for landing in wave]


def _are(number: int, total: int) -> str:
    return f"{number} of {total} moves are"


def _cordons(plan: MovePlan) -> str:
    """For whom a plan cordons which nodes."""
    cordoned = [step for step in plan.steps if step.cordon]
    told = [f"{', '.join(step.cordon)} for {step.pod}" for step in cordoned[: effort.CORDONS_TOLD]]
    if len(cordoned) > len(told):
        told.append(f"and others for {len(cordoned) - len(told)} more")
    return f"; meanwhile it cordons {'; '.join(told)}" if told else ""


def _never() -> bool:
    return False
