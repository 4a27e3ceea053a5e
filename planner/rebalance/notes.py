"""Notes beside a plan: what was left alone or could not be scheduled, what stays broken, and what would help.

Why a constraint stays broken is said for the cluster as the plan leaves it.  One replica of a domain with too
many is taken away, and the filters say for every node of the domains that lack one why it is refused.  Small
changes that would help are tried out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

import numpy as np

from models import Cluster
from models.objects.pod import Pod
from models.words import are, counted
from planner.documents.move_plan import MovePlan
from planner.eviction.budgets import ALLOWS_NONE
from planner.eviction.controllers import EMPTIED
from planner.eviction.protections import SOFT, unmodelled
from planner.landing.landing import Landing, PinPolicy
from planner.landing.single_landings import PreemptionRisk, SingleLandings
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Movable
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase, TrialCluster
from planner.problem.nodes import Mask
from planner.problem.problem import Problem
from planner.problem.requests import room_words
from planner.proof import move_effort as effort
from planner.rebalance.alternatives import MoveTask
from planner.scheduler.scheduler import Scheduler
from planner.waves.wave_planner import OneMoveAWave, WavePlan, fill_waves
from planner.whatif.letting_go import OtherBudgets, one_replica_more
from planner.whatif.nodes import add_nodes


def beforehand(trial: TrialCluster, movable: Movable) -> Iterator[str]:
    """What limits the plan from the start."""
    problem, protections = trial.problem, movable.protections
    yield from unmodelled(problem.cluster.descheduler_policy)
    if protections.min_age is not None and movable.now is not None:
        yield f"minPodAge counts up to {movable.now.isoformat()}, the newest time of any pod"
    emptied = sum(reason == EMPTIED for reason in movable.reasons.values())
    if emptied:
        yield f"{counted(emptied, 'pod')} {EMPTIED}: not moved"
    pending = sum(pod not in problem.refused for pod in problem.queue())
    if pending:
        yield f"pending pods ({pending}) may take the room that moves leave: place them first"
    if protections.most is not None:
        yield f"evictions that the DeschedulerPolicy allows in all: {protections.most}"


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
        if (cut := self.task.wave_meter.cut) is not None:
            first = "it was stopped first" if cut.stopped else "the time limit was reached first"
            yield f"{_are(left, total)} left out: {first}"
            return
        risky = self._scheduled_with_preemption()
        for workload, number in self._by_workload(risky):
            yield (
                f"{_are(number, total)} left out: as long as the old pod ends, a replacement of {workload} "
                "could find no node and preempt pods of lower priority"
            )
        others = [move for move in self.plan.left if move.pod not in {other.pod for other in risky}]
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
        return self._one_by_one(left, every) if self._unpinnable else ()

    def _scheduled_with_preemption(self) -> Sequence[Move]:
        """The moves that could follow the plan only if their replacements might preempt."""
        risk = PreemptionRisk(self.task.trial)
        left = self.plan.left
        if not any(risk.is_possible(self.task.trial.template(move.pod)) for move in left):
            return ()
        known = {landing.move.pod for landing in self._one_by_one(left, self.task.rules.pin_policy)}
        loose = self._one_by_one(left, self.task.rules.pin_policy, lets_preempt=True)
        return [landing.move for landing in loose if landing.move.pod not in known]

    def _one_by_one(
        self, left: Sequence[Move], pin_policy: PinPolicy, *, lets_preempt: bool = False
    ) -> Sequence[Landing]:
        """The landings of the moves that can follow the plan one by one; none in a large cluster."""
        trial = self.task.trial
        if len(left) * trial.problem.nodes.size > effort.ONE_MOVE_A_WAVE_MOST:
            return ()
        done = self.plan.moves
        timeline = EvictionTimeline.of(trial, [*done, *left])
        timeline.put_all(done, Phase.LANDED)
        landings = SingleLandings(timeline, pin_policy, lets_preempt=lets_preempt)
        waves, _ = fill_waves(OneMoveAWave(landings), left, lambda: False)
        return [landing for wave in waves for landing in wave]


def _are(number: int, total: int) -> str:
    return f"{number} of {counted(total, 'move')} {are(number)}"


def _cordons(plan: MovePlan) -> str:
    """Which nodes a plan cordons, and for which pods."""
    cordoned = [step for step in plan.steps if step.cordon]
    told = [f"{', '.join(step.cordon)} for {step.pod}" for step in cordoned[: effort.CORDONS_TOLD]]
    if len(cordoned) > len(told):
        told.append(f"and others for {len(cordoned) - len(told)} more")
    return f"; meanwhile it cordons {'; '.join(told)}" if told else ""


#: Filters that say where a pod's volumes are.
_VOLUMES = ("VolumeBinding", "VolumeZone")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a constraint stays broken.

    `more_room` is a node of which one more may help, `held` a pod whose budget allows no eviction.
    """

    text: str
    more_room: str = ""
    held: str = ""


class WhyNot:
    """Explains the constraints that are still broken on a trial cluster."""

    def __init__(self, trial: TrialCluster, movable: Movable) -> None:
        self._trial = trial
        self._movable = movable

    def reasons(self) -> Iterator[Reason]:
        """A reason for each hard constraint that stays broken, for the first few.

        None where a node would take a replica: then limits of a policy or affinity of other pods prevent it.
        """
        broken = self._trial.ledger.broken()
        for constraint in broken[: effort.BROKEN_EXPLAINED]:
            column, surplus = constraint.rule.column, constraint.surplus()
            code = int(np.argmax(surplus))
            found = self._of(constraint, code)
            if found is None:
                continue
            many, where = int(surplus[code]), f"{column.key} {column.values[code]}"
            told = (
                f"{self._trial.workloads[constraint.carriers[0]]}: {many} too many in {where}: {found.text}"
            )
            yield replace(found, text=told)
        if len(broken) > effort.BROKEN_EXPLAINED:
            yield Reason(f"{len(broken) - effort.BROKEN_EXPLAINED} more constraints stay broken")

    def _of(self, constraint: TrackedConstraint, code: int) -> Reason | None:
        inside = constraint.rule.counts.eligible & (constraint.rule.column.codes == code)
        node_of, template_of = self._trial.state.node_of, self._trial.problem.template_of
        there = [
            pod
            for pod in np.flatnonzero(np.isin(template_of, sorted(constraint.members))).tolist()
            if node_of[pod] >= 0 and inside[node_of[pod]]
        ]
        stay = Counter(reason for pod in there if (reason := self._movable.reasons.get(pod)))
        free = [pod for pod in there if self._movable.weights[pod]]
        if not free:
            held = (pod for pod in there if self._movable.reasons.get(pod) == ALLOWS_NONE)
            return Reason(
                f"of its pods there ({len(there)}) none may be moved ({', '.join(sorted(stay))})",
                held=next((self._trial.problem.pods[pod].key for pod in held), ""),
            )
        return self._refused(constraint, code, free[0])

    def _refused(self, constraint: TrackedConstraint, code: int, pod: int) -> Reason | None:
        """Why the replacement of one pod cannot come to a domain that lacks one."""
        rule, counts = constraint.rule, constraint.rule.counts
        with self._trial.after():
            self._trial.state.unbind(pod)
            takes = counts.sums() + rule.own - rule.minimum() <= constraint.max_skew
            low = np.flatnonzero(counts.domains & takes)
            nodes = counts.eligible & np.isin(rule.column.codes, low[low != code])
            return self._refusal(self._trial.template(pod), constraint, nodes)

    def _refusal(self, template: int, constraint: TrackedConstraint, nodes: Mask) -> Reason | None:
        """Why most of some nodes refuse one more pod of a template; None if one of them takes it."""
        framework, plan = self._trial.framework(template), self._trial.plan(template)
        found = framework.diagnose(plan)
        if found.refusal is not None or not nodes.any():
            return Reason("no other domain lacks one")
        first = found.first[nodes]
        if (first < 0).any():
            return None
        plugins = Counter(found.rejections[number].plugin for number in first.tolist())
        if all(plugin in _VOLUMES for plugin in plugins):
            return Reason("its volumes hold its pods where they are")
        by_room = np.array([r.plugin == "NodeResourcesFit" for r in found.rejections])
        short = nodes & (found.first >= 0) & by_room[found.first]
        if short.any():
            return self._lacking(template, constraint, short, int(nodes.sum()))
        number = Counter(first.tolist()).most_common(1)[0][0]
        rejection = found.rejections[number]
        said, many = rejection.verdict.reasons[0], int((first == number).sum())
        if many < len(first):
            return Reason(f"all {len(first)} nodes elsewhere refuse, {many} of them: {said}")
        refuse = "refuses" if many == 1 else "refuse"
        return Reason(f"of {counted(many, 'node')} elsewhere {many} {refuse}: {said}")

    def _lacking(self, template: int, constraint: TrackedConstraint, short: Mask, all_nodes: int) -> Reason:
        """The node where the least room is missing, and how much."""
        trial, problem = self._trial, self._trial.problem
        free, wants = trial.free(), trial.wants(template)
        rows = [row for row, _ in wants]
        amounts = np.array([amount for _, amount in wants])[:, np.newaxis]
        missing = np.maximum(amounts - free[rows], 0)
        nearest = int(np.argmin(np.where(short, (missing / np.maximum(amounts, 1)).max(axis=0), np.inf)))
        lacks = [
            room_words(problem.resources[row], int(missing[place, nearest]))
            for place, row in enumerate(rows)
            if missing[place, nearest]
        ]
        column, name = constraint.rule.column, problem.nodes.names[nearest]
        where = f"{column.key} {column.values[column.codes[nearest]]}"
        refusing = f"no room on {int(short.sum())} of {counted(all_nodes, 'node')} elsewhere"
        return Reason(f"{refusing}; {name} in {where} lacks the least: {' and '.join(lacks)}", name)


Change = tuple[str, Cluster]


def remedies(cluster: Cluster, reasons: Iterable[Reason]) -> Iterator[Change]:
    """Changes in words, each with the cluster after it: one more node, or what frees a held pod."""
    several = [*reasons]
    if node := next((reason.more_room for reason in several if reason.more_room), ""):
        yield f"one more node like {node}", add_nodes(cluster, 1, node)
    if held := next((reason.held for reason in several if reason.held), ""):
        pod = next(pod for pod in cluster.pods if pod.key == held)
        for changed, change in one_replica_more(cluster, pod):
            yield change.summary, _in_place(changed(), cluster.pods, pod)
        yield from ((change.summary, changed()) for changed, change in OtherBudgets(cluster).of(pod))


def what_would_help(task: MoveTask, plan: WavePlan, again: Callable[[Cluster], MovePlan]) -> Iterator[str]:
    """Why constraints stay broken when all moves are made, and which small changes would help."""
    problem, meter = task.trial.problem, task.wave_meter
    with task.trial.after(plan.moves):
        found = [*WhyNot(task.trial, task.movable).reasons()]
    yield from (f"stays broken: {reason.text}" for reason in found)
    if len(problem.pods) * problem.nodes.size > effort.TRIED_PLACES:
        return
    meter.look_for("what would help")
    # Asked before and after every try: one that the clock ended has no result, as the document says.
    for words, changed in takewhile(lambda _: not meter.over(), remedies(problem.cluster, found)):
        tried = again(changed)
        left = tried.after.hard_excess
        if left < plan.excess[0] and tried.after.pending <= len(problem.queue()):
            yield f"with {words}, {outcome(len(tried.steps), left)}"
    meter.over()


def outcome(moves: int, left: int) -> str:
    """How many moves a plan has and how many pods too many it leaves."""
    return f"a plan of {counted(moves, 'move')} leaves {counted(left, 'pod')} too many"


def _in_place(changed: Cluster, before: Sequence[Pod], held: Pod) -> Cluster:
    """The cluster when its new pods run where the scheduler puts them, and budgets are counted anew."""
    known = {pod.key for pod in before}
    problem = Problem(changed)
    places = {
        problem.pods[decision.pod].key: problem.nodes.names[decision.node]
        for decision in Scheduler(problem, preemption=False).run()
        if decision.node is not None
    }
    pods = tuple(
        pod if pod.key in known or pod.key not in places else pod.on(places[pod.key], running=True)
        for pod in changed.pods
    )
    budgets = tuple(
        budget.model_copy(update={"status": None}) if budget.namespace == held.namespace else budget
        for budget in changed.pod_disruption_budgets
    )
    return replace(changed, pods=pods, pod_disruption_budgets=budgets)
