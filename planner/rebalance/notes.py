"""Notes beside a plan: what was left alone, what could not be scheduled safely, and what would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from planner.documents.move_plan import MovePlan
from planner.eviction import job_notes
from planner.eviction.controllers import EMPTIED
from planner.eviction.protections import SOFT, unmodelled
from planner.landing.landing import Landing
from planner.landing.single_landings import SingleLandings
from planner.moves.movable import Movable
from planner.moves.pin_policy import PinPolicy
from planner.moves.preemption_risk import PreemptionRisk
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import effort
from planner.rebalance.alternatives import MoveTask
from planner.rebalance.document import counted
from planner.rebalance.why_not import outcome
from planner.waves.limits import WaveRules
from planner.waves.orders import OneMoveAWave, fill_waves
from planner.waves.wave_plan import WavePlan


def beforehand(trial: TrialCluster, movable: Movable) -> Iterator[str]:
    """What limits the plan from the start."""
    problem, protections = trial.problem, movable.protections
    yield from unmodelled(problem.cluster.descheduler_policy)
    if protections.min_age is not None and movable.now is not None:
        yield f"minPodAge counts up to {movable.now.isoformat()}, the newest time of any pod"
    emptied = sum(reason == EMPTIED for reason in movable.reasons.values())
    if emptied:
        yield f"{counted(emptied, 'pod')} {EMPTIED}: not moved"
    pending = len(problem.queue())
    if pending:
        yield f"pending pods ({pending}) may take the room that moves leave: place them first"
    if protections.most is not None:
        yield f"evictions that the DeschedulerPolicy allows in all: {protections.most}"


def about_jobs(movable: Movable, waves: Sequence[Sequence[Landing]]) -> Iterator[str]:
    """What the plan costs Jobs, and which of their pods are left alone."""
    impacts = [*movable.controllers.impacts([landing.move.pod for wave in waves for landing in wave])]
    yield from job_notes.lost(impacts)
    yield from job_notes.presumed(impacts)
    yield from job_notes.left_alone(movable.reasons.values())


def not_chosen(left_alone: Mapping[int, str]) -> Iterator[str]:
    """How many pods were not chosen, by reason."""
    for reason, pods in sorted(Counter(left_alone.values()).items()):
        yield f"{counted(pods, 'pod')} {reason}: left alone, and so are constraints that count only such pods"


def one_by_one(failure: str | None) -> Iterator[str]:
    """That waves did not hold, which is a bug of the planner; the moves that are printed do hold."""
    if failure is not None:
        yield f"the moves go one by one: waves that had been judged to hold were not safe ({failure})"


def later_waves(waves: Sequence[Sequence[Landing]], shown: Sequence[Sequence[Landing]]) -> Iterator[str]:
    """How many waves are not shown."""
    if len(shown) < len(waves):
        later = sum(map(len, waves[len(shown) :]))
        yield f"{len(shown)} of {len(waves)} waves; moves that come after them, as things are: {later}"


@dataclass(frozen=True, slots=True)
class UnscheduledMoves:
    """Notes on the moves that a plan of waves leaves over."""

    task: MoveTask
    plan: WavePlan

    def why(self, *, evict_only: bool) -> Iterator[str]:
        """How many moves could not be scheduled, and why.

        Moves whose replacements could preempt, and moves that would need a pin and cannot have one, are told
        separately.
        """
        left = len(self.plan.left)
        total = left + len(self.plan.moves)
        if not left:
            return
        if self.task.wave_meter.cut is not None:
            yield f"{_are(left, total)} left out: the time limit was reached before they could be scheduled"
            return
        risky = self._scheduled_with_preemption()
        for workload, number in self._by_workload(risky):
            yield (
                f"{_are(number, total)} left out: as long as the old pod ends, a replacement of {workload} "
                "could find no node and preempt pods of lower priority"
            )
        others = [move for move in self.plan.left if move not in risky]
        left = len(others)
        if evict_only and left:
            yield f"{_are(left, total)} left out: without a pin their replacements could land elsewhere"
        if evict_only or not left:
            return
        pinned = self._scheduled_with_pins(others)
        later = [*dropwhile(lambda found: not self._is_impossible(found), pinned)]
        held = [landing.move for landing in later if self._is_impossible(landing)]
        for workload, number in self._by_workload(held):
            yield (
                f"{_are(number, total)} left out: replacements of {workload} would have to be pinned, "
                "which takes a ReplicaSet or ReplicationController if nothing is to be rolled out"
            )
        if len(later) > len(held):
            yield f"{_are(len(later) - len(held), total)} left out: they come after those"
        if left > len(later):
            yield f"{_are(left - len(later), total)} left out: no safe order was found for them"

    def _by_workload(self, moves: Sequence[Move]) -> Sequence[tuple[str, int]]:
        """How many of some moves each workload has."""
        trial = self.task.trial
        return sorted(Counter(trial.workloads[trial.template(move.pod)] for move in moves).items())

    def with_cordons(self, plan: Callable[[], MovePlan], excess: tuple[int, int]) -> Iterator[str]:
        """What a plan that may cordon nodes leaves; in a large cluster only the flag is mentioned."""
        trial, problem = self.task.trial, self.task.trial.problem
        left = {trial.template(move.pod) for move in self._unpinnable}
        if self.task.wave_meter.cut is not None or not PinPolicy.of(trial, left, cordon=True).cordonable:
            return
        small = len(problem.pods) * problem.nodes.size <= effort.TRIED_PLACES
        self.task.wave_meter.look_for("what cordons would help")
        if not small or self.task.wave_meter.over():
            yield f"--may-cordon keeps those that cannot be pinned off up to {effort.MOST_CORDONED} nodes"
            return
        found = plan()
        if self.task.wave_meter.over():
            return
        moves = len(found.steps)
        now = found.after.hard_excess, found.after.soft_excess if SOFT in self.task.rules.kinds else 0
        if now < excess:
            yield f"with --may-cordon {outcome(moves, sum(now))}{_cordons(found)}"
        else:
            yield "with --may-cordon no plan was found that leaves less"

    @property
    def _unpinnable(self) -> list[Move]:
        pinnable = self.task.rules.pin_policy.pinnable
        return [move for move in self.plan.left if self.task.trial.template(move.pod) not in pinnable]

    def _is_impossible(self, landing: Landing) -> bool:
        pinnable = self.task.rules.pin_policy.pinnable
        return landing.kind == "pinned" and self.task.trial.template(landing.move.pod) not in pinnable

    def _scheduled_with_pins(self, left: Sequence[Move]) -> Sequence[Landing]:
        """The landings of the moves that could follow the plan one by one if every pod could be pinned."""
        every = PinPolicy(frozenset(range(len(self.task.trial.problem.templates))))
        return self._one_by_one(left, replace(self.task.rules, pin_policy=every)) if self._unpinnable else ()

    def _scheduled_with_preemption(self) -> Sequence[Move]:
        """The moves that could follow the plan only if their replacements might preempt."""
        risk = PreemptionRisk(self.task.trial)
        left = self.plan.left
        if not any(risk.is_possible(self.task.trial.template(move.pod)) for move in left):
            return ()
        known = {landing.move for landing in self._one_by_one(left, self.task.rules)}
        loose = self._one_by_one(left, replace(self.task.rules, lets_preempt=True))
        return [landing.move for landing in loose if landing.move not in known]

    def _one_by_one(self, left: Sequence[Move], rules: WaveRules) -> Sequence[Landing]:
        """The landings of the moves that can follow the plan one by one; none in a large cluster."""
        trial = self.task.trial
        if len(left) * trial.problem.nodes.size > effort.ONE_MOVE_A_WAVE_MOST:
            return ()
        done = self.plan.moves
        stage = EvictionTimeline(trial.problem, [*done, *left], trial)
        stage.put_all(done, Phase.LANDED)
        landings = SingleLandings(stage, rules.pin_policy, lets_preempt=rules.lets_preempt)
        waves, _ = fill_waves(OneMoveAWave(landings), left, _never)
        return [landing for wave in waves for landing in wave]


def _are(number: int, total: int) -> str:
    return f"{number} of {total} moves are"


def _cordons(plan: MovePlan) -> str:
    """Which nodes a plan cordons, and for which pods."""
    cordoned = [step for step in plan.steps if step.cordon]
    told = [f"{', '.join(step.cordon)} for {step.pod}" for step in cordoned[: effort.CORDONS_TOLD]]
    if len(cordoned) > len(told):
        told.append(f"and others for {len(cordoned) - len(told)} more")
    return f"; meanwhile it cordons {'; '.join(told)}" if told else ""


def _never() -> bool:
    return False
