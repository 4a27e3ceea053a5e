"""The `rebalance` command: search for moves, plan and replay their waves, and report what stays broken.

Only pods in the `MoveScope` may be moved.  A constraint is repaired when a chosen pod carries it or is
counted by it; all others stay as they are, because no pod that they count may move.  Pods that are not
chosen are still counted.
"""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from models import Cluster
from models.collector import old_left_alone
from models.controllers.reconcile import workloads_of
from models.errors import InternalError
from models.objects.annotations import EXCLUDE
from models.objects.pod import Pod
from models.objects.selectors import LabelSelector
from models.objects.workload import Workload
from planner.audit.replicas_down import ReplicaLimit
from planner.audit.spread_counts import workload_names
from planner.documents.move_plan import CurvePoint, MovePlan
from planner.eviction.budgets import Budgets
from planner.eviction.controllers import JOB_FAILS
from planner.eviction.job_notes import about_evictions
from planner.eviction.protections import HARD, SOFT, protections_of, unmodelled
from planner.landing.landing import NO_PINS, PinPolicy
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import refuse_no_nodes
from planner.problem.problem import Problem
from planner.proof import move_effort as effort
from planner.proof.clock import Clock
from planner.proof.effort import WORK_PER_SECOND
from planner.proof.meter import Meter
from planner.rebalance.alternatives import EvictionsFirst, MoveTask, PlannedMoves, planned_moves
from planner.rebalance.document import document
from planner.rebalance.notes import (
    UnscheduledMoves,
    beforehand,
    later_waves,
    not_chosen,
    one_by_one,
    what_would_help,
)
from planner.rebalance.search.evaluation import stages_of
from planner.rebalance.search.greedy import FewMoves
from planner.waves.candidates import WaveRules
from planner.waves.replay import first_failure
from planner.waves.wave_planner import WavePlan, WavePlanner


@dataclass(frozen=True, slots=True)
class MoveScope:
    """Pods by namespace and labels; None is no restriction.  Workloads as `namespace Kind/name`."""

    namespace: str | None = None
    selector: LabelSelector | None = None
    excluded: frozenset[str] = frozenset()

    def why_not(self, pod: Pod, workload: str) -> str:
        """Why a pod of a workload is left alone; empty if it is chosen."""
        if self.namespace not in (None, pod.namespace):
            return "of another namespace"
        if self.selector is not None and not self.selector.matches(pod.metadata.labels):
            return "without the chosen labels"
        if workload in self.excluded:
            return "of an excluded workload"
        return "with an annotation that excludes it" if _excludes_itself(pod.metadata.annotations) else ""

    def left_alone(self, problem: Problem) -> dict[int, str]:
        """The placed pods that are not chosen, with the reason."""
        choice = self._with_annotated(problem.cluster)
        workloads, template_of = workload_names(problem), problem.template_of.tolist()
        found = {
            pod: choice.why_not(problem.pods[pod], workloads[template_of[pod]])
            for pod in np.flatnonzero(problem.node_of >= 0).tolist()
        }
        return {pod: reason for pod, reason in found.items() if reason}

    @staticmethod
    def trial(problem: Problem, left_alone: Mapping[int, str]) -> TrialCluster:
        """The cluster with the constraints that the chosen pods carry or are counted by."""
        trial = TrialCluster(problem)
        if not left_alone:
            return trial
        placed = np.flatnonzero(problem.node_of >= 0)
        chosen = np.setdiff1d(placed, np.fromiter(left_alone, np.intp))
        templates = np.unique(problem.template_of[chosen]).tolist()
        return TrialCluster(problem, trial.ledger.subset_of(templates))

    def _with_annotated(self, cluster: Cluster) -> MoveScope:
        """The same without the workloads that are annotated to be left alone."""
        annotated = {
            identity(item)
            for item in workloads_of(cluster).known
            if _excludes_itself(item.metadata.annotations)
        }
        return MoveScope(self.namespace, self.selector, self.excluded | annotated)


def identity(workload: Workload) -> str:
    """`namespace Kind/name`."""
    return f"{workload.namespace} {workload.kind}/{workload.name}"


def _excludes_itself(annotations: Mapping[str, str]) -> bool:
    return annotations.get(EXCLUDE) == "true"


def rebalance(  # noqa: PLR0913 - the options of the command
    cluster: Cluster,
    *,
    time_limit: float = 60.0,
    max_moves: int | None = None,
    max_unavailable: int = 1,
    evict_only: bool = False,
    cordon: bool = False,
    soft: bool = False,
    choice: MoveScope | None = None,
    curve: bool = False,
    first_waves: int | None = None,
    stop_event: threading.Event | None = None,
    explain: bool = True,
    jobs: bool = False,
    clock: Clock | None = None,
) -> MovePlan:
    """The fewest moves after which hard spread constraints hold, in waves; with `soft` all constraints.

    With `evict_only` no replacement needs a pin.  With `cordon` nodes may be cordoned for those that cannot
    be pinned.  `curve` adds what fewer moves would achieve.
    With `jobs` pods of Jobs are moved, too, where the Job survives it.
    Only pods of the `choice` are moved, and only constraints that they carry or are counted by are repaired.
    With `first_waves` only so many waves are in the plan, for callers that plan anew after them.
    `explain` adds why something stays broken, and changes that would help, each tried out.
    With the `clock` of an enclosing plan `time_limit` says only how much work may be done.
    """
    refuse_no_nodes(cluster.nodes)
    whole = Clock(time_limit, stop_event) if clock is None else clock
    problem, scope = Problem(cluster), choice or MoveScope()
    protections, left_alone = protections_of(cluster), scope.left_alone(problem)
    if soft:
        protections = replace(protections, kinds=frozenset((HARD, SOFT)))
    trial = scope.trial(problem, left_alone)
    if not trial.ledger.broken(protections.kinds):
        notes = (*unmodelled(cluster.descheduler_policy), *not_chosen(left_alone))
        return document(trial, None, (), stages_of(protections), (), notes=notes)
    meter = (
        Meter.of(time_limit, stop_event, kept=time_limit * (1 - effort.SEARCH_SHARE))
        if clock is None
        else Meter(time_limit * WORK_PER_SECOND, clock)
    )
    budgets = Budgets(problem)
    limit = ReplicaLimit.of(problem, max_unavailable)
    staying = {**limit.kept_up(problem), **left_alone}
    movable = Movable(problem, protections, budgets, staying, jobs=jobs)
    pins = NO_PINS if evict_only else PinPolicy.of(trial, movable.templates, cordon=cordon)
    rules = WaveRules(budgets, movable.weights, limit, pins, protections.kinds)
    most = min((number for number in (max_moves, protections.most) if number is not None), default=None)
    # Waves are planned in steps of fixed size; only the clock ends that early.
    asked = MoveTask(trial, movable, protections, rules, most, meter, Meter(math.inf, whole))

    with old_left_alone():
        task, planned = _planned(asked)
        best, misjudged = _played_through(task, planned)
        # Timelines refer to themselves; those of a large cluster hold gigabytes.
        gc.collect()

    again = partial(rebalance, time_limit=effort.REMEDY_SECONDS, explain=False, clock=whole, jobs=jobs)
    options = {
        "max_moves": max_moves,
        "max_unavailable": max_unavailable,
        "evict_only": evict_only,
        "soft": soft,
        "choice": choice,
    }
    shown, left = best.waves[:first_waves], UnscheduledMoves(task, planned.reported)
    evicted = [landing.move.pod for wave in shown for landing in wave]
    points = [*_curve(task, planned.found.moves)] if curve else []
    return document(
        trial,
        task.movable,
        shown,
        planned.found.stages,
        # What holds for fewer pods does not hold for all, nor what holds for all waves for the first.
        planned.found.claims if task is asked and len(shown) == len(best.waves) else (),
        curve=points,
        notes=(
            *beforehand(trial, task.movable),
            *about_evictions(problem, task.movable.controllers, evicted, task.movable.reasons.values()),
            *left.why(evict_only=evict_only),
            *(
                left.with_cordons(partial(again, cluster, cordon=True, **options), best.excess)
                if explain and not (cordon or evict_only)
                else ()
            ),
            *not_chosen(left_alone),
            *one_by_one(misjudged),
            *later_waves(best.waves, shown),
            *_beyond_reach(points, best.excess[0]),
            *(
                what_would_help(task, best, partial(again, cordon=cordon, **options))
                if explain and best.excess[0]
                else ()
            ),
        ),
    ).cut_while(meter.cut or task.wave_meter.cut)


def _planned(task: MoveTask) -> tuple[MoveTask, PlannedMoves]:
    """The best plan that fails no Job; where pods of Jobs have to stay for that, the task without them."""
    while True:
        planned = planned_moves(task)
        if task.rules.evict_only and planned.best.misses(planned.found.values) and not task.is_bounded:
            better = EvictionsFirst(task).better_than(planned.best)
            if better is not planned.best:
                planned = replace(planned, best=better, reported=better)
        overdrawn = [*task.movable.overdrawn([move.pod for move in planned.best.moves])]
        if not overdrawn:
            return task, planned
        task = task.without(overdrawn, JOB_FAILS)


def _played_through(task: MoveTask, planned: PlannedMoves) -> tuple[WavePlan, str | None]:
    """A plan that holds when it is replayed, and how the best one deviates if that is another one."""
    soft, best = SOFT in task.protections.kinds, planned.best
    misjudged = first_failure(task.trial, best.waves, soft=soft) if best.waves else None
    if misjudged is None:
        return best, None
    single = WavePlanner(task.trial, task.rules, task.wave_meter).one_move_a_wave(planned.found.moves)
    if single.waves and (failure := first_failure(task.trial, single.waves, soft=soft)) is not None:
        raise InternalError(f"a plan did not hold when it was played through: {failure}")
    return single, misjudged


def _beyond_reach(points: Sequence[CurvePoint], excess: int) -> Iterator[str]:
    """What to make of a curve that ends below the plan: it asks nothing about waves and pins."""
    if points and points[-1].hard_excess < excess:
        told = f"{excess} too many are left, not {points[-1].hard_excess}"
        yield f"the curve counts moves that cannot be scheduled safely, too: by this plan {told}"


def _curve(task: MoveTask, moves: Sequence[Move]) -> Iterator[CurvePoint]:
    """The least excess for every number of moves up to those of the plan; late, of its own moves alone."""
    few, least = FewMoves.of(task.evaluator(), moves), math.inf
    for most in range(len(moves) + 1):
        excess, proved = few.at_most(most)[1]["hardExcess"], False
        if not task.meter.over():
            found = next(replace(task, most=most).found().judged())
            excess, proved = min(excess, found.value), found.proved
        # What fewer moves reach, these reach as well.
        least = min(least, excess)
        yield CurvePoint(moves=most, hard_excess=int(least), proved=proved)
        if task.wave_meter.over():
            return
